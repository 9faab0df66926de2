"""The same task through an agent of each framework, in one fleet on real Ray: five answers, one tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest

from symfonic_ray.cluster import Placement
from symfonic_ray.delegation import HandOffEnded, ScopedChild
from symfonic_ray.delegation.fleet import HandOffEvent
from tests.adapters.stub_server import StubServer, Turn
from tests.cluster import foreign_agents
from tests.cluster.conftest import PoolMaker

KINDS = ("graph", "openai_agent", "pydantic_agent", "symfonic_agent", "function")
TASK = "the weather"


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer([Turn(text=f"said of {TASK}")]) as stub:
        yield stub


@pytest.mark.timeout(300)
async def test_the_same_task_through_five_kinds_of_agent_is_five_answers_in_one_tree(
    open_pool: PoolMaker, server: StubServer
) -> None:
    children = [
        ScopedChild(name=kind, description=kind, build=partial(getattr(foreign_agents, kind), server.base_url))
        for kind in KINDS
    ]
    pool = await open_pool(*children, "caller", placements={"caller": Placement(delegates_to=KINDS)})
    ended: list[HandOffEnded] = []

    def note(event: HandOffEvent) -> None:
        if isinstance(event, HandOffEnded):
            ended.append(event)

    async with pool.scope("acme") as fleet:
        fleet.observe(note)
        asked = json.dumps([[kind, TASK] for kind in KINDS])
        record = await fleet.delegate("caller", asked, timeout_seconds=200)
    assert record.outcome.delivered, record.message
    nested = [event.record for event in ended if event.record.depth == 2]
    assert {one.name: one.message for one in nested} == dict.fromkeys(KINDS, f"said of {TASK}")
    assert {one.root_run_id for one in nested} == {record.run_id}
    assert {one.parent_run_id for one in nested} == {record.run_id}
    assert len({one.run_id for one in nested}) == len(KINDS)
    assert {request["messages"][-1]["content"] for request in server.requests} == {TASK}
    counted = {one.name for one in nested if one.usage}
    assert {"graph", "openai_agent", "pydantic_agent"} <= counted
