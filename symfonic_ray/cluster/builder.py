"""How a described child becomes an agent inside its host. Knows no model: what builds is the plan's provider.

A ``ChildSpec`` says what a child is, not how it is made. Its provider, or the parent's, makes it: by a callable
``build_agent(plan)``, structurally, so that any framework's provider can be given one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from symfonic_ray.cluster.shipping import shipped
from symfonic_ray.delegation.compiler import ChildCompiler
from symfonic_ray.delegation.contracts import ChildBuildPlan
from symfonic_ray.delegation.declarations import ChildSpec


class ProviderCannotBuildError(TypeError):
    """A plan whose provider has no ``build_agent``."""

    def __init__(self, child: str, provider: str) -> None:
        super().__init__(child, provider)
        self.child, self.provider = child, provider

    def __str__(self) -> str:
        return (
            f"the provider of child {self.child!r}, a {self.provider}, has no callable build_agent(plan); give the "
            "spec or the pool a provider that has one, or declare the child as a ScopedChild"
        )


class StructuralInheritance:
    """A child's config from its parent's, whatever kind of config that is."""

    def inherit(self, parent_config: Any, **overrides: Any) -> Any:
        """``parent_config`` with ``overrides``, by its own ``inherit``, its ``model_copy``, or as a mapping."""
        if callable(own := getattr(parent_config, "inherit", None)):
            return own(**overrides)
        if callable(copy := getattr(parent_config, "model_copy", None)):
            return copy(update=overrides)
        if parent_config is None or isinstance(parent_config, Mapping):
            return dict(parent_config or {}) | overrides
        raise TypeError(
            f"the parent's config, a {type(parent_config).__name__}, cannot be inherited from; give one with "
            "inherit(**overrides) or model_copy(update=...), a mapping, or None"
        )


class PlannedChild:
    """A child that stands for its plan until its host builds it."""

    def __init__(self, plan: ChildBuildPlan) -> None:
        self.plan = plan

    async def run(self, query: str, **_: Any) -> str:
        """Never called: the host runs what ``build_from_plan`` makes."""
        raise NotImplementedError("a planned child is run by its host")


class PlanBuilder:
    """A ``ChildBuilder`` that leaves the building to the host."""

    def build(self, plan: ChildBuildPlan) -> PlannedChild:
        """The plan, standing in for the agent."""
        return PlannedChild(plan)


def planned(specs: tuple[ChildSpec, ...], *, parent_config: Any, parent_provider: Any) -> dict[str, ChildBuildPlan]:
    """The plan of each described child, by name; config inherited or sanitised as the delegation room says."""
    compiler = ChildCompiler(builder=PlanBuilder(), inheritance=StructuralInheritance())
    compiled = compiler.compile(specs, parent_config=parent_config, parent_provider=parent_provider)
    return {entry.name: entry.runner.plan for entry in compiled.entries}


def plan_parcel(plan: ChildBuildPlan) -> bytes | str:
    """The build function of a plan, ready to cross.

    Raises:
        ProviderCannotBuildError: before anything is sent.
        UnshippableError: with the path to what cannot be pickled.
    """
    if not callable(getattr(plan.provider, "build_agent", None)):
        raise ProviderCannotBuildError(plan.name, type(plan.provider).__name__)
    return shipped(partial(build_from_plan, plan), f"the plan of child {plan.name!r}")


def build_from_plan(plan: ChildBuildPlan, scope: Any) -> Any:
    """The agent of ``plan``; the scope reaches it with each run."""
    return plan.provider.build_agent(plan)
