"""Progress: what is drained, what is emitted, and what a broken sink may not do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from symfonic_ray.execution import (
    NullProgressSink,
    Tool,
    ToolDescriptor,
    ToolExecutor,
    ToolProgress,
    drain_with_progress,
    progress,
)
from tests.execution.doubles import RecordingSink, call


async def later(*values: Any) -> AsyncIterator[Any]:
    for value in values:
        await asyncio.sleep(0)
        yield value


def at_once(*values: Any) -> Iterator[Any]:
    yield from values


class Plain:
    """An iterator of its own making, with nothing to close."""

    def __init__(self, *values: Any) -> None:
        self.left = list(values)

    def __aiter__(self) -> Plain:
        return self

    async def __anext__(self) -> Any:
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)


DRAINED = [
    ((), None, []),
    (("a",), "a", []),
    (("a", "b", "c"), "c", [(0, "a"), (1, "b")]),
    ((None, None), None, [(0, None)]),
    ((0, False, ""), "", [(0, 0), (1, False)]),
]


@pytest.mark.parametrize("stream", [later, at_once, Plain], ids=["async generator", "generator", "async iterator"])
@pytest.mark.parametrize(("values", "last", "emitted"), DRAINED, ids=str)
async def test_all_but_the_last_value_are_emitted_and_the_last_is_the_result(
    stream: Callable[..., Any], values: tuple[Any, ...], last: Any, emitted: list[Any]
) -> None:
    seen: list[tuple[int, Any]] = []
    result = await drain_with_progress(stream(*values), lambda sequence, value: seen.append((sequence, value)))
    assert (result, seen) == (last, emitted)


async def test_an_async_emit_is_awaited_before_the_next_value_is_asked_for() -> None:
    order: list[str] = []

    async def emit(sequence: int, value: Any) -> None:
        await asyncio.sleep(0)
        order.append(f"told {value}")

    def values() -> Iterator[str]:
        for value in ("a", "b", "c"):
            order.append(f"made {value}")
            yield value

    assert await drain_with_progress(values(), emit) == "c"
    assert order == ["made a", "made b", "told a", "made c", "told b"]


@pytest.mark.parametrize("stream", [later, at_once])
async def test_an_emit_that_raises_costs_its_own_event_only(stream: Callable[..., Any]) -> None:
    seen: list[int] = []

    def emit(sequence: int, value: Any) -> None:
        if sequence == 0:
            raise RuntimeError("the screen is gone")
        seen.append(sequence)

    assert await drain_with_progress(stream(1, 2, 3, 4), emit) == 4
    assert seen == [1, 2]


async def test_what_the_stream_raises_is_raised_after_the_progress_before_it() -> None:
    seen: list[Any] = []

    async def torn() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise LookupError("page 3")

    with pytest.raises(LookupError, match="page 3"):
        await drain_with_progress(torn(), lambda sequence, value: seen.append(value))
    assert seen == [1]


async def test_a_drain_that_is_cancelled_between_two_values_closes_the_stream() -> None:
    closed = asyncio.Event()
    stuck = asyncio.Event()

    async def stream() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.set()

    async def emit(sequence: int, value: Any) -> None:
        stuck.set()
        await asyncio.sleep(60)

    drain = asyncio.create_task(drain_with_progress(stream(), emit))
    await stuck.wait()
    drain.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drain
    assert closed.is_set()


def test_the_default_sink_takes_an_event_and_says_nothing() -> None:
    NullProgressSink().emit(ToolProgress("c", "t", 0))


async def counting(value: int) -> AsyncIterator[int]:
    for number in range(value):
        await asyncio.sleep(0)
        yield number


class AsyncSink:
    """Takes events after a pause; keeps them."""

    def __init__(self, pause_seconds: float) -> None:
        self.pause_seconds = pause_seconds
        self.events: list[ToolProgress] = []

    async def emit(self, event: ToolProgress) -> None:
        await asyncio.sleep(self.pause_seconds)
        self.events.append(event)


async def test_a_sink_may_be_async_and_has_every_event_when_the_report_comes() -> None:
    sink = AsyncSink(0.002)
    report = await ToolExecutor(progress=sink).execute([call("counting", value=4)], [counting])
    assert report.outcomes[0].value == 3
    assert [(event.sequence, event.payload) for event in sink.events] == [(0, 0), (1, 1), (2, 2)]


async def test_events_tell_blank_ids_apart_by_slot() -> None:
    sink = RecordingSink()
    calls = [call("counting", id="", value=2), call("counting", id="", value=3)]
    await ToolExecutor(progress=sink).execute(calls, [counting])
    assert {(event.call_id, event.tool_name) for event in sink.events} == {("", "counting")}
    assert (sink.payloads(0), sink.payloads(1)) == ([(0, 0)], [(0, 0), (1, 1)])


class DyingSink:
    """Raises ``error`` at every event, at once or when awaited."""

    def __init__(self, error: BaseException, *, waits: bool) -> None:
        self.error = error
        self.waits = waits

    def emit(self, event: ToolProgress) -> Any:
        if not self.waits:
            raise self.error
        return self.fail()

    async def fail(self) -> None:
        raise self.error


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "when awaited"])
@pytest.mark.parametrize(
    "error", [RuntimeError("no screen"), SystemExit(2), asyncio.CancelledError("no screen")], ids=repr
)
async def test_a_sink_that_raises_changes_no_outcome_and_has_one_line_in_the_trace(
    error: BaseException, waits: bool
) -> None:
    report = await ToolExecutor(progress=DyingSink(error, waits=waits)).execute([call("counting", value=4)], [counting])
    assert (report.outcomes[0].value, report.outcomes[0].is_error) == (3, False)
    faults = [record for record in report.trace if record.phase == "progress"]
    assert [(record.action, record.slot) for record in faults] == [("fault", 0)]
    assert type(error).__name__ in faults[0].detail


async def test_a_sink_that_never_takes_an_event_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SINK_SECONDS", 0.02)
    sink = AsyncSink(60)
    report = await ToolExecutor(progress=sink).execute([call("counting", value=50)], [counting])
    assert (report.outcomes[0].value, sink.events) == (49, [])
    assert [record.action for record in report.trace if record.phase == "progress"] == ["fault"]


async def test_no_event_comes_after_the_outcome() -> None:
    sink = RecordingSink()

    def dripping() -> Iterator[int]:
        for number in range(1000):
            time.sleep(0.005)
            yield number

    limited = Tool(dripping, ToolDescriptor("dripping", timeout_seconds=0.4))
    report = await ToolExecutor(progress=sink).execute([call("dripping")], [limited])
    heard = len(sink.events)
    await asyncio.sleep(0.05)
    assert report.outcomes[0].reason == "timeout"
    assert 0 < heard == len(sink.events)
