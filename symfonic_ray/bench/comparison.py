"""Two ways of doing one thing, measured in turns so that both meet the same machine. Knows neither way."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Least, middle and greatest of several values."""

    least: float
    median: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of one or more values."""
        return cls(least=min(values), median=statistics.median(values), greatest=max(values))

    def as_list(self) -> list[float]:
        """The three as they stand in the JSON file."""
        return [rounded(self.least), rounded(self.median), rounded(self.greatest)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One value for us and one for hand-written Ray in each round."""

    ours: Sequence[float]
    raw_ray: Sequence[float]
    unit: str
    """Of the values: ``s``, ``/s``, ``s CPU``, ``MB``."""
    per: Sequence[float] | None = None
    """What ours are divided by for the ratio; None for ``raw_ray``."""

    @property
    def ratio(self) -> Spread:
        """Ours divided by the other, round by round."""
        others = self.raw_ray if self.per is None else self.per
        return Spread.of([mine / other for mine, other in zip(self.ours, others, strict=True)])

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "ratio": self.ratio.as_list(),
            "ours": [rounded(value) for value in self.ours],
            "raw_ray": [rounded(value) for value in self.raw_ray],
            "unit": self.unit,
            **more,
        }


async def in_turns(
    rounds: int, ours: Callable[[], Awaitable[T]], raw_ray: Callable[[], Awaitable[T]]
) -> tuple[list[T], list[T]]:
    """Measure both once for nothing, then ``rounds`` times in turns; who goes first changes every round.

    Returns:
        What each gave, a value a round.
    """
    mine: list[T] = []
    theirs: list[T] = []
    for number in range(rounds + 1):
        sides = [(ours, mine), (raw_ray, theirs)]
        for measure, values in sides if number % 2 else reversed(sides):
            values.append(await measure())
    return mine[1:], theirs[1:]


def rounded(value: float) -> float:
    """Five digits: more would pretend."""
    return float(f"{value:.5g}")
