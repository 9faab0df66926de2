"""Bodies that do not stop when they are told to: nobody waits for them, and they disturb nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from symfonic_ray.execution import Tool, ToolDescriptor, ToolExecutor, ToolProgress, life
from symfonic_ray.execution.thread import BodyThread
from tests.execution.doubles import call


async def test_a_tool_that_ignores_its_cancellation_is_left_alone_after_the_grace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(life, "STOP_SECONDS", 0.05)
    started, released = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        started.set()
        while not released.is_set():
            try:
                await asyncio.wait_for(released.wait(), 20)
            except asyncio.CancelledError:
                continue

    run = asyncio.create_task(ToolExecutor().execute([call("stubborn")], {"stubborn": stubborn}))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 10)
    released.set()
    await asyncio.sleep(0.01)


async def test_a_cancelled_run_does_not_wait_for_a_body_that_blocks() -> None:
    started, released = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        released.wait(20)

    run = asyncio.create_task(ToolExecutor().execute([call("blocking")], {"blocking": blocking}))
    await asyncio.to_thread(started.wait, 20)
    before = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    released.set()
    assert time.monotonic() - before < 5


async def test_an_abandoned_generator_is_closed_at_its_next_value() -> None:
    closed = threading.Event()

    def dripping() -> Iterator[int]:
        try:
            for number in range(1000):
                time.sleep(0.005)
                yield number
        finally:
            closed.set()

    limited = Tool(dripping, ToolDescriptor("dripping", timeout_seconds=0.05))
    report = await ToolExecutor().execute([call("dripping")], [limited])
    assert report.outcomes[0].reason == "timeout"
    assert await asyncio.to_thread(closed.wait, 20)


async def test_a_body_that_waits_for_a_slow_sink_is_freed_when_it_is_abandoned() -> None:
    closed = threading.Event()

    class StuckSink:
        async def emit(self, event: ToolProgress) -> None:
            await asyncio.sleep(60)

    def two() -> Iterator[int]:
        try:
            yield 1
            yield 2
            yield 3
        finally:
            closed.set()

    limited = Tool(two, ToolDescriptor("two", timeout_seconds=0.05))
    run = ToolExecutor(progress=StuckSink()).execute([call("two")], [limited])
    report = await asyncio.wait_for(run, 4)  # the sink itself is given up after 5 seconds
    assert report.outcomes[0].reason == "timeout"
    assert await asyncio.to_thread(closed.wait, 20)


def test_a_body_that_outlives_its_loop_ends_in_silence() -> None:
    started, released, ended = threading.Event(), threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        released.wait(20)
        ended.set()

    limited = Tool(blocking, ToolDescriptor("blocking", timeout_seconds=0.05))
    report = asyncio.run(ToolExecutor().execute([call("blocking")], [limited]))
    released.set()
    assert report.outcomes[0].reason == "timeout"
    assert ended.wait(20)


async def test_a_body_that_asks_just_as_it_is_abandoned_is_freed() -> None:
    go_on, freed = threading.Event(), threading.Event()
    body = BodyThread()

    async def never() -> None:
        raise AssertionError("it was asked")

    def asking() -> None:
        go_on.wait(20)
        try:
            body.ask(never)
        finally:
            freed.set()

    run = asyncio.create_task(body.run(asking))
    await asyncio.sleep(0)
    run.cancel()
    go_on.set()
    time.sleep(0.1)  # noqa: ASYNC251 - the loop must stand still while the body asks
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await asyncio.to_thread(freed.wait, 20)
