"""A builder that remembers what it was asked to build. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symfonic_ray.delegation import ChildBuildPlan
from symfonic_ray.testing.recording_runner import RecordingRunner


class RecordingBuilder:
    """A ``ChildBuilder``.

    Args:
        make: gives the child of a plan; by default a ``RecordingRunner`` that answers ``NAME answers``.
    """

    def __init__(self, make: Callable[[ChildBuildPlan], Any] | None = None) -> None:
        self._make = make
        self.plans: list[ChildBuildPlan] = []
        """Every plan so far, those whose build raised included."""
        self.built: list[Any] = []
        """Every child that was built."""

    def build(self, plan: ChildBuildPlan) -> Any:
        """Remember the plan and build its child."""
        self.plans.append(plan)
        child = RecordingRunner(f"{plan.name} answers") if self._make is None else self._make(plan)
        self.built.append(child)
        return child
