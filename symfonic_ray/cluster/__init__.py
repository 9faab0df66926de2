"""Where children run: Ray actors, one scope each. The only room that imports Ray."""

from symfonic_ray.admission import LimitError, Placement, PoolLimits, RunLimits
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
    "StopReceipt",
    "WithheldValue",
    "current_fleet",
]
