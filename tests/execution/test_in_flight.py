"""How many calls of one batch run at once, and that a cancel starts no more of them."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from symfonic_ray.execution import InProcessDispatcher, ToolCall, ToolExecutor
from tests.execution.doubles import call


class Gauge:
    """Counts how many are inside at once, from any thread."""

    def __init__(self) -> None:
        self.inside = self.peak = self.entered = 0
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            self.entered += 1
            self.peak = max(self.peak, self.inside)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1


def numbered(count: int, tool: str = "body") -> list[ToolCall]:
    return [call(tool, id=str(number), value=number) for number in range(count)]


@pytest.mark.parametrize("sync", [False, True], ids=["async tool", "plain tool"])
async def test_d28_no_more_calls_run_at_once_than_the_limit_and_all_are_answered_in_order(sync: bool) -> None:
    gauge = Gauge()

    def plain(value: int) -> int:
        with gauge:
            time.sleep(0.01)
        return value

    async def waiting(value: int) -> int:
        with gauge:
            await asyncio.sleep(0.002)
        return value

    executor = ToolExecutor(dispatcher=InProcessDispatcher(in_flight=16))
    report = await executor.execute(numbered(200), {"body": plain if sync else waiting})
    assert 1 < gauge.peak <= 16
    assert [outcome.value for outcome in report.outcomes] == list(range(200))


async def test_d28_the_limit_is_finite_when_nobody_sets_it() -> None:
    gauge = Gauge()

    async def waiting(value: int) -> None:
        with gauge:
            await asyncio.sleep(0.002)

    await ToolExecutor().execute(numbered(300), {"body": waiting})
    assert gauge.peak == 64


async def test_d28_after_a_cancel_nothing_starts_and_nothing_is_left_running() -> None:
    gauge = Gauge()
    started = asyncio.Event()

    async def waiting(value: int) -> None:
        with gauge:
            started.set()
            await asyncio.sleep(0.005)

    executor = ToolExecutor(dispatcher=InProcessDispatcher(in_flight=16))
    run = asyncio.create_task(executor.execute(numbered(1000), {"body": waiting}))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert gauge.inside == 0
    entered = gauge.entered
    await asyncio.sleep(0.03)
    assert gauge.entered == entered < 1000


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="in_flight is 0"):
        InProcessDispatcher(in_flight=0)
