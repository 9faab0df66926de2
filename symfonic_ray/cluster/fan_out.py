"""Many hand-offs through one bounded window. Knows no child and no host: it is given what makes one record.

Memory follows the window, not the number of tasks: a task is read when a place is free, a record is handed over
when it is asked for.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symfonic_ray.delegation.fleet import FleetTasks
from symfonic_ray.delegation.values import DelegationRecord

SAMPLE = 100_000  # most durations kept for the percentiles; beyond it every second one is dropped, evenly


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

    def __init__(
        self,
        delegate: Callable[[str, Any], Awaitable[DelegationRecord]],
        tasks: FleetTasks,
        *,
        in_flight: int,
        ordered: bool,
    ) -> None:
        if type(in_flight) is not int or in_flight < 1:
            raise ValueError(f"in_flight is {in_flight!r}; give a whole number, 1 or more")
        self._delegate = delegate
        self._tasks = _stream(tasks)
        self._ordered = ordered
        self._in_flight = in_flight
        self._running: deque[asyncio.Task[DelegationRecord]] = deque()
        self._exhausted = False
        self._outcomes: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._stride = 1

    def __aiter__(self) -> FanOut:
        return self

    async def __anext__(self) -> DelegationRecord:
        """The next record: as they finish, or in the order of the tasks when ``ordered``."""
        try:
            await self._fill()
            if not self._running:
                raise StopAsyncIteration
            if self._ordered:
                await asyncio.wait((self._running[0],))
                done = self._running.popleft()
            else:
                finished, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                done = next(iter(finished))
                self._running.remove(done)
            record = done.result()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        self._count(record)
        return record

    @property
    def report(self) -> FanOutReport:
        """Counts so far; complete once the iteration has ended."""
        percentiles = {}
        if self._seconds:
            values = np.percentile(np.asarray(self._seconds, dtype=np.float64), [50, 90, 99])
            percentiles = dict(zip(("p50", "p90", "p99"), map(float, values), strict=True))
        return FanOutReport(
            total=self._outcomes.total(),
            by_outcome=dict(self._outcomes),
            by_reason=dict(self._reasons),
            seconds=percentiles,
        )

    async def aclose(self) -> None:
        """Cancel what runs and start nothing new; waits until the children were told."""
        self._exhausted = True
        running, self._running = self._running, deque()
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)

    async def __aenter__(self) -> FanOut:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _fill(self) -> None:
        while not self._exhausted and len(self._running) < self._in_flight:
            try:
                name, task = await anext(self._tasks)
            except StopAsyncIteration:
                self._exhausted = True
                return
            self._running.append(asyncio.ensure_future(self._delegate(name, task)))

    def _count(self, record: DelegationRecord) -> None:
        if self._outcomes.total() % self._stride == 0:
            self._seconds.append(record.seconds)
            if len(self._seconds) >= SAMPLE:
                del self._seconds[1::2]
                self._stride *= 2
        self._outcomes[record.outcome.value] += 1
        if record.reason:
            self._reasons[record.reason] += 1


async def _stream(tasks: FleetTasks) -> AsyncIterator[tuple[str, Any]]:
    if isinstance(tasks, AsyncIterable):
        async for pair in tasks:
            yield pair
    else:
        given: Iterable[tuple[str, Any]] = tasks
        for pair in given:
            yield pair
