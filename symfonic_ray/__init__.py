"""Delegation to sub-agents across a Ray cluster, safely for many tenants.

The names of the delegation room are here at once; those of the cluster room are imported when they are first used,
because they bring Ray with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic_ray.delegation import (
    ChildBuildError,
    ChildSpec,
    DelegationOutcome,
    DelegationRecord,
    PrebuiltChild,
    ScopedChild,
    current_fleet,
)

if TYPE_CHECKING:
    from symfonic_ray.cluster import Cluster, ClusterUnreachableError, Placement, PoolLimits, RunLimits

__version__ = "0.1.0"

_ON_RAY = ("Cluster", "ClusterUnreachableError", "Placement", "PoolLimits", "RunLimits")

__all__ = [
    "ChildBuildError",
    "ChildSpec",
    "Cluster",
    "ClusterUnreachableError",
    "DelegationOutcome",
    "DelegationRecord",
    "Placement",
    "PoolLimits",
    "PrebuiltChild",
    "RunLimits",
    "ScopedChild",
    "current_fleet",
]


def __getattr__(name: str) -> Any:
    if name in _ON_RAY:
        from symfonic_ray import cluster

        return getattr(cluster, name)
    raise AttributeError(f"module 'symfonic_ray' has no attribute {name!r}")
