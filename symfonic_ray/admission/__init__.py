"""What may be used, by whom, how often. Pure values and policies: the clock is passed in, nothing is started here."""

from symfonic_ray.admission.eviction import ScopeUse, to_evict
from symfonic_ray.admission.fair_queue import FairQueue
from symfonic_ray.admission.ledger import Lease, Spent, TreeLedger
from symfonic_ray.admission.limits import LimitError, PoolLimits, RunLimits
from symfonic_ray.admission.placement import Placement
from symfonic_ray.admission.replicas import desired_replicas
from symfonic_ray.admission.restarts import RestartHistory, RestartIntensity
from symfonic_ray.admission.staggering import staggered
from symfonic_ray.admission.verdicts import Admitted, Queued, Refused

__all__ = [
    "Admitted",
    "FairQueue",
    "Lease",
    "LimitError",
    "Placement",
    "PoolLimits",
    "Queued",
    "Refused",
    "RestartHistory",
    "RestartIntensity",
    "RunLimits",
    "ScopeUse",
    "Spent",
    "TreeLedger",
    "desired_replicas",
    "staggered",
    "to_evict",
]
