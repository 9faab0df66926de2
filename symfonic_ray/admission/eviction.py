"""Which idle scopes are closed to make room. A pure choice: closes nothing, the clock is passed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScopeUse:
    """How one live scope stands."""

    last_used: float
    """Seconds on a monotonic clock: when its last hand-off ended or its last holder left."""
    in_use: bool
    """Whether a hand-off runs or waits, or somebody holds the scope; then it is never closed."""


def to_evict(
    scopes: Mapping[str, ScopeUse], *, most: int, idle_ttl_seconds: float, now: float, needed: int = 0
) -> tuple[str, ...]:
    """Choose the scopes to close, least recently used first.

    Args:
        scopes: every live scope by its key.
        most: scopes that may live at one time.
        idle_ttl_seconds: a scope idle for so long goes, however much room there is.
        now: seconds on the clock of ``last_used``.
        needed: scopes about to be started, for which there must be room.
    Returns:
        Keys, least recently used first and in the order of ``scopes`` where that is equal. Too few to make the room
        when too many scopes are in use: the caller waits or refuses.
    """
    over = len(scopes) + needed - most
    idle = sorted((key for key, use in scopes.items() if not use.in_use), key=lambda key: scopes[key].last_used)
    return tuple(key for rank, key in enumerate(idle) if rank < over or now - scopes[key].last_used >= idle_ttl_seconds)
