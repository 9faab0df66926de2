"""What admission answers. Plain values: decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Admitted:
    """The hand-off may start now; it holds a slot until it is reported done."""


@dataclass(frozen=True, slots=True)
class Queued:
    """The hand-off waits; its ticket comes out of a later ``done``."""

    position: int
    """1-based place in its own scope's queue at the time of asking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The hand-off neither started nor waits."""

    queued: int
    """Hand-offs of the scope that wait already."""
    retry_after_seconds: float
    """When to ask again: about when all that wait now will have started. A hint, not a promise."""
    reason: Literal["overload"] = "overload"
