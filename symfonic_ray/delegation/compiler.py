"""From declarations to children. Refuses a bad list before it builds anything; knows no depth and no run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from symfonic_ray.delegation.contracts import ChildBuilder, ChildBuildPlan, ConfigInheritance
from symfonic_ray.delegation.declarations import ChildDeclaration, ChildSpec, PrebuiltChild, ScopedChild, has_run
from symfonic_ray.delegation.errors import (
    ChildBuildError,
    ChildDeclarationError,
    DelegationError,
    DuplicateChildError,
)
from symfonic_ray.delegation.lockdown import assert_no_write_surface, deny_child_self_edit
from symfonic_ray.delegation.rollback import close_built
from symfonic_ray.delegation.roster import DelegationRoster, RosterEntry
from symfonic_ray.kernel.text import failure_line


@dataclass(frozen=True, slots=True)
class CompiledChildren:
    """Children, ready to be handed work."""

    entries: tuple[RosterEntry, ...] = ()
    """In the order of their declaration."""
    owned: tuple[Any, ...] = ()
    """The agents that were built here, in the same order."""

    def roster(self) -> DelegationRoster:
        """The children by name."""
        return DelegationRoster(self.entries)

    def owned_names(self) -> tuple[str, ...]:
        """The names of ``owned``."""
        return tuple(entry.name for entry in self.entries if entry.owned)


class ChildCompiler:
    """Builds described children.

    Args:
        builder: builds a child from its plan.
        inheritance: derives a child's config from its parent's.
    """

    def __init__(self, *, builder: ChildBuilder, inheritance: ConfigInheritance) -> None:
        self._builder = builder
        self._inheritance = inheritance

    def compile(
        self,
        declarations: Iterable[ChildDeclaration],
        *,
        parent_config: Any,
        parent_provider: Any = None,
        shared: Mapping[str, Any] | None = None,
        scope: Any = None,
    ) -> CompiledChildren:
        """Build what is to be built, in order, each held to the lockdown as soon as it stands.

        Args:
            declarations: any mix of the three forms.
            parent_config: what a spec without a config inherits from.
            parent_provider: what a spec without a provider shares.
            shared: reaches every described child verbatim.
            scope: what a ``ScopedChild`` is built with.
        Raises:
            DuplicateChildError: before anything is built.
            TypeError: for a declaration of no known form, before anything is built.
            DelegationError: for a child that cannot be built or is refused by the lockdown. Every child built so
                far is closed first, and what failed in that is in the error's notes.
        """
        declared = checked_declarations(declarations, scope=scope)
        plans = {
            child.name: self._plan(child, parent_config, parent_provider, dict(shared or {}))
            for child in declared
            if isinstance(child, ChildSpec)
        }
        return assemble(declared, scope=scope, build_spec=lambda child: self._builder.build(plans[child.name]))

    def _plan(self, child: ChildSpec, parent_config: Any, provider: Any, shared: dict[str, Any]) -> ChildBuildPlan:
        config = self._inherited(child, parent_config) if child.config is None else child.config
        return ChildBuildPlan(
            name=child.name,
            description=child.description,
            config=deny_child_self_edit(config, child.name),
            provider=provider if child.provider is None else child.provider,
            tools=child.tools,
            when_to_use=child.when_to_use,
            shared=shared,
        )

    def _inherited(self, child: ChildSpec, parent_config: Any) -> Any:
        asked = {"model_name": child.model_name, "temperature": child.temperature, "max_tokens": child.max_tokens}
        overrides = {name: value for name, value in asked.items() if value is not None}  # None would clear a setting
        return self._inheritance.inherit(
            parent_config, **overrides, domain_description=child.effective_domain_description
        )


def checked_declarations(
    declarations: Iterable[ChildDeclaration], *, scope: Any
) -> tuple[PrebuiltChild | ChildSpec | ScopedChild, ...]:
    """The declarations, if they can stand together; nothing is built.

    Raises:
        TypeError: for a declaration of no known form.
        DuplicateChildError: for two children under one name.
        ChildDeclarationError: for a ``ScopedChild`` without a scope.
    """
    known: list[PrebuiltChild | ChildSpec | ScopedChild] = []
    for child in declarations:
        if not isinstance(child, (PrebuiltChild, ChildSpec, ScopedChild)):
            raise TypeError(f"a {type(child).__name__} declares no child; use PrebuiltChild, ChildSpec or ScopedChild")
        known.append(child)
    names: set[str] = set()
    for child in known:
        if child.name in names:
            raise DuplicateChildError(child.name)
        names.add(child.name)
    for child in known:
        if isinstance(child, ScopedChild):
            child.check_scope(scope)
    return tuple(known)


def assemble(
    declared: Iterable[PrebuiltChild | ChildSpec | ScopedChild],
    *,
    scope: Any,
    build_spec: Callable[[ChildSpec], Any],
) -> CompiledChildren:
    """Build what is to be built, in order; on the first failure close it all again and raise."""
    entries: list[RosterEntry] = []
    built: list[tuple[str, Any]] = []
    try:
        for child in declared:
            if isinstance(child, PrebuiltChild):
                agent = child.agent
            else:
                agent = child.for_scope(scope) if isinstance(child, ScopedChild) else _built(child, build_spec)
                built.append((child.name, agent))
            assert_no_write_surface(child.name, agent)
            entries.append(
                RosterEntry(
                    name=child.name,
                    description=child.description,
                    runner=agent,
                    when_to_use=child.when_to_use,
                    owned=child.owned,
                )
            )
    except BaseException as error:
        close_built(built, error)
        raise
    return CompiledChildren(tuple(entries), tuple(agent for _, agent in built))


def _built(child: ChildSpec, build_spec: Callable[[ChildSpec], Any]) -> Any:
    try:
        agent = build_spec(child)
    except DelegationError:
        raise
    except Exception as error:
        raise ChildBuildError(child.name, "build_failed", failure_line(error)) from error
    if not has_run(agent):
        raise ChildDeclarationError(
            child.name, f"the builder gave a {type(agent).__name__}, which has no callable run; return the agent"
        )
    return agent
