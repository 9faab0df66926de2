"""What may be used, by whom, how often. Pure values and policies: the clock is passed in, nothing is started here."""

from symfonic_ray.admission.limits import LimitError, PoolLimits, RunLimits
from symfonic_ray.admission.placement import Placement
from symfonic_ray.admission.restarts import RestartHistory, RestartIntensity

__all__ = ["LimitError", "Placement", "PoolLimits", "RestartHistory", "RestartIntensity", "RunLimits"]
