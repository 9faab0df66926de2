"""Where children run: Ray actors, one scope each. The only room that imports Ray.

Its names are imported when they are first used: the logic of a hand-off needs no Ray, and is used where there is none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symfonic_ray.admission import LimitError, Placement, PoolLimits, RunLimits, Spent
    from symfonic_ray.cluster.connection import Cluster, ClusterUnreachableError
    from symfonic_ray.cluster.fan_out import FanOut, FanOutReport
    from symfonic_ray.cluster.fleet import ScopedFleet
    from symfonic_ray.cluster.pool_stats import PoolStats, ScopeStats
    from symfonic_ray.cluster.scoped_pool import PoolClosedError, ScopedPool
    from symfonic_ray.cluster.stop_receipt import StopReceipt
    from symfonic_ray.cluster.tool_result import WithheldValue
    from symfonic_ray.cluster.tool_tasks import RayToolDispatcher
    from symfonic_ray.delegation.errors import ChildBuildError
    from symfonic_ray.delegation.fleet import current_fleet

_HOMES = {
    "ChildBuildError": "symfonic_ray.delegation.errors",
    "Cluster": "symfonic_ray.cluster.connection",
    "ClusterUnreachableError": "symfonic_ray.cluster.connection",
    "FanOut": "symfonic_ray.cluster.fan_out",
    "FanOutReport": "symfonic_ray.cluster.fan_out",
    "LimitError": "symfonic_ray.admission",
    "Placement": "symfonic_ray.admission",
    "PoolClosedError": "symfonic_ray.cluster.scoped_pool",
    "PoolLimits": "symfonic_ray.admission",
    "PoolStats": "symfonic_ray.cluster.pool_stats",
    "RayToolDispatcher": "symfonic_ray.cluster.tool_tasks",
    "RunLimits": "symfonic_ray.admission",
    "ScopeStats": "symfonic_ray.cluster.pool_stats",
    "ScopedFleet": "symfonic_ray.cluster.fleet",
    "ScopedPool": "symfonic_ray.cluster.scoped_pool",
    "Spent": "symfonic_ray.admission",
    "StopReceipt": "symfonic_ray.cluster.stop_receipt",
    "WithheldValue": "symfonic_ray.cluster.tool_result",
    "current_fleet": "symfonic_ray.delegation.fleet",
}

__all__ = [
    "ChildBuildError",
    "Cluster",
    "ClusterUnreachableError",
    "FanOut",
    "FanOutReport",
    "LimitError",
    "Placement",
    "PoolClosedError",
    "PoolLimits",
    "PoolStats",
    "RayToolDispatcher",
    "RunLimits",
    "ScopeStats",
    "ScopedFleet",
    "ScopedPool",
    "Spent",
    "StopReceipt",
    "WithheldValue",
    "current_fleet",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'symfonic_ray.cluster' has no attribute {name!r}")
