"""Many hand-offs through one bounded window. Knows no child and no host: it is given what starts one.

Memory follows the window, not the number of tasks: a task is read when a place is free, a record is handed over
when it is asked for.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from symfonic_ray.delegation.fleet import FleetTasks
from symfonic_ray.delegation.values import DelegationRecord

SAMPLE = 100_000  # most durations kept for the percentiles; beyond it every second one is dropped, evenly


class Launched(Protocol):
    """A hand-off under way."""

    def abort(self) -> Awaitable[None]:
        """Cancel it; its record is not told any more."""
        ...


Launch = Callable[[str, Any, Callable[[DelegationRecord], None]], Launched]
"""Starts a hand-off by name and task, and tells its record once it has ended, never before it has returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutReport:
    """What a fan-out came to."""

    total: int
    """Records given."""
    by_outcome: Mapping[str, int]
    by_reason: Mapping[str, int]
    """Counts by reason of all that was not delivered."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """p50, p90 and p99 of the hand-offs' wall time, by linear interpolation; empty without records."""


class FanOut:
    """An async iterator of records; leaving it early cancels what runs and starts nothing new."""

    def __init__(self, launch: Launch, tasks: FleetTasks, *, in_flight: int, ordered: bool) -> None:
        if type(in_flight) is not int or in_flight < 1:
            raise ValueError(f"in_flight is {in_flight!r}; give a whole number, 1 or more")
        self._launch = launch
        self._later: AsyncIterator[tuple[str, Any]] | None = None
        self._now: Iterator[tuple[str, Any]] | None = None
        if isinstance(tasks, AsyncIterable):
            self._later = aiter(tasks)
        else:
            self._now = iter(tasks)
        self._ordered = ordered
        self._in_flight = in_flight
        self._running: dict[int, Launched] = {}
        self._order: deque[int] = deque()
        self._ready: deque[DelegationRecord] = deque()
        self._landed: dict[int, DelegationRecord] = {}
        self._next = 0
        self._reading: asyncio.Future[tuple[tuple[str, Any], ...]] | None = None
        self._news: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._outcomes: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._stride = 1
        self._given = 0

    def __aiter__(self) -> FanOut:
        return self

    async def __anext__(self) -> DelegationRecord:
        """The next record: as they finish, or in the order of the tasks when ``ordered``."""
        try:
            while self._closing is None:
                self._fill()
                if self._ready:
                    record = self._ready.popleft()
                    self._count(record)
                    return record
                if self._ordered and self._order and self._order[0] in self._landed:
                    record = self._landed.pop(self._order.popleft())
                    self._count(record)
                    return record
                if not self._running and self._reading is None:
                    raise StopAsyncIteration
                await self._something_new()
            raise StopAsyncIteration
        except StopAsyncIteration:
            raise
        except BaseException:  # a source that raises ends the fan-out as a cancellation does
            await self.aclose()
            raise

    async def _something_new(self) -> None:
        """Wait until a record has landed, or a task has been read."""
        self._news = asyncio.get_running_loop().create_future()
        waiting: set[asyncio.Future[Any]] = {self._news}
        if self._reading is not None:
            waiting.add(self._reading)
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        else:
            await self._news
        self._news = None

    def _fill(self) -> None:
        """Start hand-offs while there are places and tasks; with as many records unread, none is started."""
        while len(self._running) < self._in_flight and len(self._ready) + len(self._landed) < self._in_flight:
            if self._now is not None:
                try:
                    pair = next(self._now)
                except StopIteration:
                    self._now = None
                    return
            elif self._reading is not None:
                if not self._reading.done():
                    return
                reading, self._reading = self._reading, None
                read = reading.result()
                if not read:
                    self._later = None
                    return
                pair = read[0]
            elif self._later is not None:
                self._reading = asyncio.ensure_future(_read(self._later))
                return
            else:
                return
            number = self._next
            self._next += 1
            if self._ordered:
                self._order.append(number)
            name, task = pair
            self._running[number] = self._launch(name, task, partial(self._land, number))

    def _land(self, number: int, record: DelegationRecord) -> None:
        self._running.pop(number, None)
        if self._ordered:
            self._landed[number] = record
        else:
            self._ready.append(record)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    @property
    def report(self) -> FanOutReport:
        """Counts so far; complete once the iteration has ended."""
        percentiles = {}
        if self._seconds:
            import numpy as np  # 90 ms, which a host that only hands on can spare

            values = np.percentile(np.asarray(self._seconds, dtype=np.float64), [50, 90, 99])
            percentiles = dict(zip(("p50", "p90", "p99"), map(float, values), strict=True))
        return FanOutReport(
            total=self._given,
            by_outcome=dict(self._outcomes),
            by_reason=dict(self._reasons),
            seconds=percentiles,
        )

    async def aclose(self) -> None:
        """Cancel what runs and start nothing new; waits until the children were told."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        while not self._closing.done():  # also when the one who closes is cancelled again: each abort is bounded
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._now = self._later = None
        if self._news is not None and not self._news.done():
            self._news.set_result(None)  # whoever waits for a record hears that there is none any more
        running, self._running = self._running, {}
        if running:
            await asyncio.gather(*(flight.abort() for flight in running.values()), return_exceptions=True)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))
            self._reading = None

    async def __aenter__(self) -> FanOut:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _count(self, record: DelegationRecord) -> None:
        if self._given % self._stride == 0:
            self._seconds.append(record.seconds)
            if len(self._seconds) >= SAMPLE:
                del self._seconds[1::2]
                self._stride *= 2
        self._given += 1
        self._outcomes[record.outcome.value] += 1
        if record.reason:
            self._reasons[record.reason] += 1


async def _read(tasks: AsyncIterator[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The next pair alone in a tuple; an empty one at the end."""
    try:
        return (await anext(tasks),)
    except StopAsyncIteration:
        return ()
