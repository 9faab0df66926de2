"""Delegation as one thing that a parent agent is given: children, tools, ceiling, run scope, shutdown.

Puts the parts together and decides nothing that a part decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any

from symfonic_ray.delegation.adapted import adapt_child
from symfonic_ray.delegation.calling import AgentCall
from symfonic_ray.delegation.compiler import ChildCompiler, CompiledChildren, checked_declarations
from symfonic_ray.delegation.context import ActiveRun, DelegationContext
from symfonic_ray.delegation.contracts import ChildBuilder, ConfigInheritance, RunSnapshots
from symfonic_ray.delegation.declarations import ChildDeclaration
from symfonic_ray.delegation.depth import DEFAULT_MAX_DEPTH, DepthPolicy
from symfonic_ray.delegation.errors import DelegationError
from symfonic_ray.delegation.lifecycle import ChildLifecycle
from symfonic_ray.delegation.rollback import close_built
from symfonic_ray.delegation.roster import DelegationRoster, RosterEntry
from symfonic_ray.delegation.tools import DelegationTools
from symfonic_ray.delegation.values import DelegationToolSpec, TeardownReport
from symfonic_ray.kernel import CapabilityContribution, RunIdentity

CAPABILITY = "delegation"


class DelegationCapability:
    """What a parent agent needs in order to delegate."""

    def __init__(
        self,
        *,
        roster: DelegationRoster,
        tools: DelegationTools,
        lifecycle: ChildLifecycle,
        context: DelegationContext,
        depth: DepthPolicy,
    ) -> None:
        self.roster = roster
        self.tools = tools
        self.lifecycle = lifecycle
        self.context = context
        self.depth = depth

    @classmethod
    def compile(
        cls,
        declarations: Iterable[ChildDeclaration],
        *,
        builder: ChildBuilder,
        inheritance: ConfigInheritance,
        parent_config: Any,
        parent_provider: Any = None,
        max_depth: int = DEFAULT_MAX_DEPTH,
        snapshots: RunSnapshots | None = None,
        resolve_scope: Callable[[], Any] | None = None,
        shared: Mapping[str, Any] | None = None,
        record_delegations: bool = True,
        scope: Any = None,
    ) -> DelegationCapability:
        """A capability from declarations; see ``ChildCompiler.compile`` for what is built and what is raised.

        Args:
            max_depth: the deepest level at which a child may run; with 0 nothing is built and every hand-off is
                refused.
            resolve_scope: tells the scope of the run in flight, which is what a child is told.
            scope: what a ``ScopedChild`` is built with.
        """
        depth = DepthPolicy(max_depth)
        context = DelegationContext(snapshots=snapshots, resolve_scope=resolve_scope)
        if max_depth == 0:
            return cls.of(closed_children(declarations, scope=scope), context, depth, record=record_delegations)
        compiled = ChildCompiler(builder=builder, inheritance=inheritance).compile(
            declarations, parent_config=parent_config, parent_provider=parent_provider, shared=shared, scope=scope
        )
        return cls.of(compiled, context, depth, record=record_delegations)

    @classmethod
    def of(
        cls, compiled: CompiledChildren, context: DelegationContext, depth: DepthPolicy, *, record: bool = True
    ) -> DelegationCapability:
        """A capability over children that are ready; one that is not told its depth is adapted."""
        roster = roster_over(compiled, context)
        return cls(
            roster=roster,
            tools=DelegationTools(roster=roster, depth=depth, context=context, record=record),
            lifecycle=ChildLifecycle(compiled.owned, names=compiled.owned_names()),
            context=context,
            depth=depth,
        )

    @property
    def active(self) -> bool:
        """Whether any child is declared."""
        return bool(self.roster.names)

    def tool_specs(self) -> tuple[DelegationToolSpec, ...]:
        """The tools for the parent's model; none when no child is declared."""
        return self.tools.specs() if self.active else ()

    def contribute(self, request: object) -> CapabilityContribution:
        """What delegation adds to a parent: tools, whatever the request grants."""
        return CapabilityContribution(capability=CAPABILITY, tools=self.tool_specs())

    def run_scope(
        self, *, depth: object = 0, identity: RunIdentity | None = None
    ) -> AbstractAsyncContextManager[ActiveRun]:
        """Hold a run for an ``async with`` block; see ``DelegationContext.run_scope``."""
        return self.context.run_scope(depth=depth, identity=identity)

    async def shutdown(self) -> TeardownReport:
        """Flush and close the children that the composition built; see ``ChildLifecycle.shutdown``."""
        return await self.lifecycle.shutdown()

    async def __aenter__(self) -> DelegationCapability:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()


class _ClosedRunner:
    """Stands where delegation is disabled."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def run(self, query: str, *, agent_depth: int = 0, **ignored: Any) -> Any:
        raise DelegationError(f"child {self._name!r} was not built: delegation is disabled here (max_depth is 0)")


def closed_children(declarations: Iterable[ChildDeclaration], *, scope: Any) -> CompiledChildren:
    """The declared children of a composition that may not delegate: listed, never built, never owned."""
    return CompiledChildren(
        tuple(
            RosterEntry(
                name=child.name,
                description=child.description,
                runner=_ClosedRunner(child.name),
                when_to_use=child.when_to_use,
            )
            for child in checked_declarations(declarations, scope=scope)
        )
    )


def roster_over(compiled: CompiledChildren, context: DelegationContext) -> DelegationRoster:
    """The children by name, with an adapter around every agent whose ``run`` does not name ``agent_depth``."""
    try:
        return DelegationRoster(
            entry
            if AgentCall(entry.runner).names_depth
            else replace(entry, runner=adapt_child(entry.name, entry.runner, context))
            for entry in compiled.entries
        )
    except BaseException as error:  # the roster locks down once more, and what was built must not stay alive
        close_built(tuple(zip(compiled.owned_names(), compiled.owned, strict=True)), error)
        raise
