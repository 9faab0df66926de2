"""The ports of delegation and the plan that a builder gets. Shapes only: decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildBuildPlan:
    """All that a builder needs to build one child, and nothing on how."""

    name: str
    description: str
    config: Any = field(repr=False)  # Any: the adopter's own type; not shown, it may hold secrets
    provider: Any = field(repr=False)  # Any: likewise
    tools: tuple[Any, ...] = ()
    """The child's whole palette."""
    when_to_use: str | None = None
    shared: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the composition shares with every child, verbatim."""


class ChildRunner(Protocol):
    """Whatever runs a child: an agent, an adapter, a proxy of one elsewhere."""

    async def run(
        self,
        query: str,
        *,
        scope: Any,
        run_id: str | None,
        agent_depth: int,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> Any:
        """Do the work and return a response with ``final_response``, or a string."""
        ...


class ChildBuilder(Protocol):
    """Builds a described child."""

    def build(self, plan: ChildBuildPlan) -> ChildRunner:
        """The child that ``plan`` describes."""
        ...


class ConfigInheritance(Protocol):
    """Derives a child's config from its parent's."""

    def inherit(self, parent_config: Any, **overrides: Any) -> Any:
        """The parent's config with the overrides that are given; an absent one is never passed as None."""
        ...


class RunSnapshots(Protocol):
    """A slot that is held while a delegated run is in flight. Both calls are synchronous."""

    def open(self) -> Any:
        """Take a slot and return its token."""
        ...

    def close(self, token: Any) -> None:
        """Give the slot back."""
        ...
