"""What a pool uses now, as values for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStats:
    """What one scope uses now."""

    holds: int
    """``pool.scope`` blocks that are inside."""
    hosts: int
    """Host processes, as told by the controller within the last second."""
    in_flight: int
    """Root hand-offs that run."""
    queued: int
    """Root hand-offs that wait for a turn."""
    closing: bool
    frozen: bool = False
    """Whether it takes no work, by its own freeze or the pool's."""
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Children that died too often and are not started for a while, with the reason of the last death."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """What a pool uses now; eventually consistent within a second."""

    live_scopes: int
    live_hosts: int
    warm_hosts: int
    """Blank hosts at hand."""
    queued: int
    in_flight: int
    scopes: Mapping[str, ScopeStats]
    """By scope key."""
    frozen: bool = False
    """Whether the whole pool takes no work."""
    delivered: int = 0
    """Hand-offs answered since the pool was opened, those below other runs too where the driver has heard of them."""
    undelivered: Mapping[str, int] = field(default_factory=dict)
    """The others, by reason."""
