"""A provider that refuses one child is left alone by its siblings in other processes, and by the parent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.adapters.openai_model import OpenAIModel
from symfonic_ray.cluster import Placement
from symfonic_ray.delegation import ScopedChild
from symfonic_ray.kernel.rate_limits import RATE_LIMITS
from tests.adapters.stub_server import StubServer, Turn
from tests.cluster.conftest import PoolMaker

PAUSE_SECONDS = 2.0


class Asker:
    """Asks the model whose base URL is its scope."""

    def __init__(self, scope: Any) -> None:
        self.model = OpenAIModel("m", base_url=scope["url"])

    async def run(self, query: str) -> str:
        if query == "warm":
            return "warm"
        return str((await self.model.ainvoke([{"role": "user", "content": query}])).content)


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer([Turn(text="hello")]) as server:
        yield server


async def test_no_sibling_and_no_parent_asks_while_one_is_refused(open_pool: PoolMaker, stub: StubServer) -> None:
    stub.turns = [Turn(status=429, headers={"Retry-After": str(PAUSE_SECONDS)}, error="slow"), Turn(text="hello")]
    names = ("one", "two", "three")
    children = [ScopedChild(name=name, description="asks", build=Asker) for name in names]
    pool = await open_pool(*children, placements=dict.fromkeys(names, Placement(concurrency=4)))
    async with (
        pool.scope({"tenant": "a", "url": stub.base_url}) as a,
        pool.scope({"tenant": "b", "url": stub.base_url}) as b,
    ):
        for fleet in (a, b):
            await asyncio.gather(*(fleet.delegate(name, "warm") for name in names))
        first = asyncio.create_task(a.delegate("one", "hi"))
        async with asyncio.timeout(20):
            while not stub.arrivals:  # noqa: ASYNC110  # the server is a thread
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.7)  # the word is through to every host, and to this process
        parent = OpenAIModel("m", base_url=stub.base_url)
        others = [fleet.delegate(name, "hi") for fleet in (a, b) for name in names]
        records = await asyncio.gather(first, *others)
        assert [record.message for record in records] == ["hello"] * 7
        assert RATE_LIMITS.paused() == {} or all(left < PAUSE_SECONDS for left in RATE_LIMITS.paused().values())
        assert (await parent.ainvoke([{"role": "user", "content": "hi"}])).content == "hello"
        await parent.aclose()
    refused, *later = stub.arrivals
    assert len(later) == 8
    assert min(later) - refused >= PAUSE_SECONDS
    assert sorted(later)[-2] - min(later) >= 0.3  # they did not come all at once


async def test_a_wait_for_a_provider_is_bounded_by_the_hand_off_s_own_time(
    open_pool: PoolMaker, stub: StubServer, tmp_path: Path
) -> None:
    stub.turns = [Turn(status=429, headers={"Retry-After": "30"}, error="slow"), Turn(text="hello")]
    pool = await open_pool(ScopedChild(name="one", description="asks", build=Asker))
    async with pool.scope({"tenant": "a", "url": stub.base_url}) as fleet:
        record = await fleet.delegate("one", "hi", timeout_seconds=1.0)
        assert record.reason == "timeout"
        assert len(stub.arrivals) == 1
