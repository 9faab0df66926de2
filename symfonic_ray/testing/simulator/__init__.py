"""A fleet under seeded faults, without a cluster: for tests of this package and of yours.

assert_sound(simulate(children, seed=7), seed=7)
"""

from symfonic_ray.testing.simulator.checker import Promises, Violation, check
from symfonic_ray.testing.simulator.faults import Faults
from symfonic_ray.testing.simulator.history import Event, History
from symfonic_ray.testing.simulator.simulate import SimulationError, assert_sound, judged, simulate

__all__ = [
    "Event",
    "Faults",
    "History",
    "Promises",
    "SimulationError",
    "Violation",
    "assert_sound",
    "check",
    "judged",
    "simulate",
]
