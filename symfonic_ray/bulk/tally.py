"""Counts of a bulk job's results, in memory that does not grow with them. Knows no file and no clock."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symfonic_ray.bulk.result import BulkResult

SAMPLE = 100_000  # most durations kept for the percentiles; beyond it every second one is dropped, evenly
SLOWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTask:
    """One of the slowest."""

    index: int
    id: Any
    outcome: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSummary:
    """What a job has come to so far."""

    total: int
    """Results so far."""
    delivered: int
    by_outcome: Mapping[str, int]
    """Commonest first."""
    by_reason: Mapping[str, int]
    """Of all that was not delivered, commonest first."""
    percentiles: Mapping[str, float]
    """p50, p90 and p99 of the hand-offs' seconds, by linear interpolation; empty without hand-offs."""
    slowest: tuple[SlowTask, ...]
    """At most five, slowest first."""


class Tally:
    """Counts results."""

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._stride = 1
        self._ran = 0
        self._slowest: list[tuple[float, int, SlowTask]] = []
        self.done = 0
        """Results so far."""
        self.failed = 0
        """Those among them that were not delivered."""

    def count(self, result: BulkResult) -> None:
        """Take in one result."""
        self.done += 1
        self._outcomes[result.outcome] += 1
        if not result.delivered:
            self.failed += 1
            self._reasons[result.reason] += 1
        if result.ran:
            self._time(SlowTask(index=result.index, id=result.id, outcome=result.outcome, seconds=result.seconds))

    def _time(self, task: SlowTask) -> None:
        if self._ran % self._stride == 0:
            self._seconds.append(task.seconds)
            if len(self._seconds) >= SAMPLE:
                del self._seconds[1::2]
                self._stride *= 2
        self._ran += 1
        entry = (task.seconds, -task.index, task)
        if len(self._slowest) < SLOWEST:
            heapq.heappush(self._slowest, entry)
        elif entry > self._slowest[0]:
            heapq.heapreplace(self._slowest, entry)

    def summary(self) -> BulkSummary:
        """The counts at this moment."""
        percentiles: dict[str, float] = {}
        if self._seconds:
            values = np.percentile(np.asarray(self._seconds, dtype=np.float64), [50, 90, 99])
            percentiles = dict(zip(("p50", "p90", "p99"), map(float, values), strict=True))
        return BulkSummary(
            total=self.done,
            delivered=self.done - self.failed,
            by_outcome=dict(self._outcomes.most_common()),
            by_reason=dict(self._reasons.most_common()),
            percentiles=percentiles,
            slowest=tuple(task for *_, task in sorted(self._slowest, reverse=True)),
        )
