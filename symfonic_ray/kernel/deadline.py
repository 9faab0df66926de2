"""How long a run may still take. Arithmetic on seconds: the clock is passed in.

Only seconds LEFT cross a process border, never an instant: clocks of two machines differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from symfonic_ray.kernel.ambient import Ambient, Holding


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant on this process's monotonic clock."""

    expires_at: float
    """Seconds on the monotonic clock; ``inf`` for no deadline."""

    @classmethod
    def after(cls, seconds: float | None, *, now: float) -> Deadline:
        """The deadline ``seconds`` from ``now``; None means never."""
        return cls(math.inf if seconds is None else now + seconds)

    def remaining(self, *, now: float) -> float:
        """Seconds left, at least 0.0; ``inf`` without a deadline."""
        return max(0.0, self.expires_at - now)

    def earlier(self, other: Deadline | None) -> Deadline:
        """The stricter of the two; a missing one does not restrict."""
        return self if other is None or self.expires_at <= other.expires_at else other


def seconds_for_child(remaining: float, *, reserve_fraction: float, reserve_seconds: float) -> float:
    """What a parent with ``remaining`` seconds may give to a child.

    The parent keeps the larger of the two reserves, to finish its own answer, but never more than half of what
    is left: a child of a short run still gets a turn.
    """
    if math.isinf(remaining):
        return remaining
    reserve = max(remaining * reserve_fraction, reserve_seconds)
    return remaining - min(reserve, remaining / 2)


DEADLINE: Ambient[Deadline] = Ambient("symfonic_ray_deadline")


def current_deadline() -> Deadline | None:
    """The deadline of the run in flight in this context; None when nothing bounds it."""
    return DEADLINE.current()


def deadline(limit: Deadline) -> Holding:
    """Hold ``limit``, or the current deadline where that is earlier, for a ``with`` block."""
    return DEADLINE.holding(limit.earlier(current_deadline()))
