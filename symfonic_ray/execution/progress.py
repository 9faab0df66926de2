"""How a tool that yields becomes one result and its progress. Knows no tool, no outcome and no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from symfonic_ray.execution.settling import is_containable, settled
from symfonic_ray.execution.values import PhaseRecord, ToolProgress
from symfonic_ray.kernel.text import failure_line

SINK_SECONDS = 5.0  # an event that takes longer means that nobody is reading; the tools must not wait for ever

Emit: TypeAlias = Callable[[ToolProgress | PhaseRecord], Awaitable[None]]
"""How a dispatcher tells the executor of progress, or puts a line into the trace; await what it returns."""

_NOTHING = object()


class ProgressSink(Protocol):
    """Who hears of progress."""

    def emit(self, event: ToolProgress) -> Awaitable[None] | None:
        """Take one event; sync or async. Raising here changes no outcome."""
        ...


class NullProgressSink:
    """Takes every event and keeps none."""

    def emit(self, event: ToolProgress) -> None:
        """Let ``event`` go."""


async def drain_with_progress(
    values: AsyncIterable[Any] | Iterable[Any], emit: Callable[[int, Any], Awaitable[None] | None]
) -> Any:
    """The last of ``values``; each one before it goes to ``emit``.

    Args:
        values: what a tool yields. A sync iterable is drained where this runs, and blocks it.
        emit: called with a number from 0 and a value, sync or async; what it raises is dropped.
    Returns:
        The last value, None where there is none.
    Raises:
        BaseException: whatever ``values`` itself raises.
    """
    held = _Held()
    if isinstance(values, AsyncIterable):
        iterator = aiter(values)
        try:
            async for value in iterator:
                if held.follow(value):
                    with suppress(Exception):
                        await settled(emit(held.sequence, held.before))
        finally:
            close = getattr(iterator, "aclose", None)  # a generator left between two values has to be told
            if close is not None:
                await close()
    else:
        for value in values:
            if held.follow(value):
                with suppress(Exception):
                    await settled(emit(held.sequence, held.before))
    return held.result()


def drain_blocking(values: Iterable[Any], emit: Callable[[int, Any], None]) -> Any:
    """The same for a thread: ``emit`` blocks until the event is taken, and what it raises ends the drain."""
    held = _Held()
    try:
        for value in values:
            if held.follow(value):
                emit(held.sequence, held.before)
    finally:
        close = getattr(values, "close", None)
        if close is not None:
            close()
    return held.result()


class _Held:
    """The newest value, held back until it is known whether another follows."""

    __slots__ = ("before", "newest", "sequence")

    def __init__(self) -> None:
        self.newest: Any = _NOTHING
        self.before: Any = _NOTHING
        self.sequence = -1

    def follow(self, value: Any) -> bool:
        """Whether ``value`` turns the one before it into progress."""
        self.before, self.newest = self.newest, value
        if self.before is _NOTHING:
            return False
        self.sequence += 1
        return True

    def result(self) -> Any:
        return None if self.newest is _NOTHING else self.newest


class ProgressRelay:
    """The executor's end of one batch's ``Emit``: progress goes to the sink, records to the trace."""

    def __init__(self, sink: ProgressSink, trace: list[PhaseRecord]) -> None:
        self._sink = sink
        self._trace = trace
        self._open = True
        self._faulty_slots: set[int] = set()
        self._under_way: set[asyncio.Task[None]] = set()

    def emit(self, event: ToolProgress | PhaseRecord) -> Awaitable[None]:
        """Pass ``event`` on; a sink's fault is one line of the trace for each call, and nothing else."""
        taken = asyncio.get_running_loop().create_future()
        taken.set_result(None)
        if isinstance(event, PhaseRecord):
            self._trace.append(event)
            return taken
        if not self._open:
            return taken
        try:
            answer = self._sink.emit(event)
        except BaseException as error:
            if not is_containable(error):
                raise
            self._note(event, error)
            return taken
        if answer is None:
            return taken
        task = asyncio.create_task(self._finished(event, answer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def close(self) -> None:
        """Wait for events under way and take no more."""
        self._open = False
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _finished(self, event: ToolProgress, answer: Any) -> None:
        try:
            async with asyncio.timeout(SINK_SECONDS) as limit:
                await settled(answer)
        except BaseException as error:
            if not is_containable(error):
                raise
            if limit.expired():
                self._open = False
            self._note(event, error)

    def _note(self, event: ToolProgress, error: BaseException) -> None:
        if event.slot not in self._faulty_slots:
            self._faulty_slots.add(event.slot)
            detail = f"the progress sink failed: {failure_line(error)}"
            self._trace.append(PhaseRecord("progress", event.call_id, "fault", detail, event.slot))
