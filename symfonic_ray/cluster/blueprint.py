"""What a host is told when it is bound to a scope, and what it says back. Values only, shipped once, not per call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.admission import Placement, PoolLimits, RunLimits

SHARED = ""  # the group of the children that share one host; no child can have this name


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildBlueprint:
    """One child as a host needs it."""

    name: str
    description: str
    when_to_use: str | None
    parcel: bytes | str = field(repr=False)
    """The build function, pickled, or its import string."""
    placement: Placement
    on_cycle: bool = False
    """Whether ``delegates_to`` leads back to this child, so that its runs give their turn back while they wait."""

    @property
    def group(self) -> str:
        """The host that this child shares: its own, or the scope's common one."""
        return self.name if self.placement.share == "child" else SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """All that does not change while a pool lives."""

    name: str
    key: bytes = field(repr=False)
    """Random, for the seal of this pool's batches."""
    children: tuple[ChildBlueprint, ...]
    max_depth: int
    limits: PoolLimits
    run_limits: RunLimits
    import_paths: tuple[str, ...] = ()
    """Folders that the caller imports from; a host on a machine that has them does too."""
    tracing: str | None = None
    """How hosts record spans; None for not at all."""

    @property
    def most_scopes(self) -> int:
        """Scopes that may live at one time: as many as the limit says and the hosts allow."""
        hosts = sum({child.group: child.placement.replica_range[0] for child in self.children}.values()) or 1
        return min(self.limits.max_live_scopes, self.limits.max_hosts // hosts)

    def child(self, name: str) -> ChildBlueprint:
        """The blueprint of a child that this plan holds."""
        return next(child for child in self.children if child.name == name)

    def group(self, group: str) -> tuple[ChildBlueprint, ...]:
        """The children that share one host."""
        return tuple(child for child in self.children if child.group == group)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBinding:
    """A host's one scope and one life. A host is bound once and never again."""

    plan: PoolPlan
    scope: Any = field(repr=False)
    scope_key: str = field(repr=False)
    group: str
    generation: int
    rebuilt: bool
    """Whether an earlier life of this host was lost: its first record says ``fresh``."""
    controller: Any
    """Handle of the controller; Any because Ray's handles have no type."""
    paused: Mapping[str, float] = field(default_factory=dict)
    """Providers that are not to be asked for so many seconds, by their keys."""


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Why a child could not be built."""

    child: str
    reason: str
    """build_failed, build_timeout, infeasible, busy, lockdown, unpicklable or quarantined."""
    cause: str
    """One line."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a child of a scope is served just now."""

    handle: Any
    """Handle of the host; Any because Ray's handles have no type."""
    generation: int
    pid: int
