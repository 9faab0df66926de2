"""The short way to a capability: children that exist or build themselves, no builder and no config.

A described child needs a builder, so a ``ChildSpec`` is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from symfonic_ray.delegation.capability import DelegationCapability, closed_children, roster_over
from symfonic_ray.delegation.compiler import CompiledChildren, assemble, checked_declarations
from symfonic_ray.delegation.context import DelegationContext
from symfonic_ray.delegation.declarations import ChildDeclaration, ChildSpec
from symfonic_ray.delegation.depth import DEFAULT_MAX_DEPTH, DepthPolicy
from symfonic_ray.delegation.roster import DelegationRoster


def child_roster(
    children: Iterable[ChildDeclaration], *, scope: Any = None, context: DelegationContext | None = None
) -> DelegationRoster:
    """The children by name; whoever takes the roster closes what was built for it.

    Args:
        children: ``PrebuiltChild`` and ``ScopedChild``; none at all is an empty roster.
        scope: what a ``ScopedChild`` is built with.
        context: holds the depth of agents that are not told it.
    Raises:
        TypeError: for a ``ChildSpec``.
        DuplicateChildError: before anything is built.
    """
    return roster_over(_composed(children, scope), context or DelegationContext())


def delegated_children(
    children: Iterable[ChildDeclaration], *, max_depth: int = DEFAULT_MAX_DEPTH, scope: Any = None
) -> DelegationCapability:
    """A capability over children for one scope; its ``shutdown`` closes those that it built.

    Args:
        children: at least one ``PrebuiltChild`` or ``ScopedChild``.
        max_depth: the deepest level at which a child may run.
        scope: what a ``ScopedChild`` is built with, and what every child is told.
    Raises:
        ValueError: for no children at all, or a duplicate name.
        TypeError: for a ``ChildSpec``.
    """
    declared = tuple(children)
    if not declared:
        raise ValueError("no children were given; a parent without children needs no delegation")
    depth = DepthPolicy(max_depth)
    compiled = closed_children(_specless(declared), scope=scope) if max_depth == 0 else _composed(declared, scope)
    return DelegationCapability.of(compiled, DelegationContext(resolve_scope=lambda: scope), depth)


def _composed(children: Iterable[ChildDeclaration], scope: Any) -> CompiledChildren:
    return assemble(checked_declarations(_specless(tuple(children)), scope=scope), scope=scope, build_spec=_no_builder)


def _specless(children: tuple[ChildDeclaration, ...]) -> tuple[ChildDeclaration, ...]:
    for child in children:
        if isinstance(child, ChildSpec):
            _no_builder(child)
    return children


def _no_builder(child: ChildSpec) -> NoReturn:
    raise TypeError(
        f"child {child.name!r} is a ChildSpec, which needs a builder; use DelegationCapability.compile, "
        "or declare it as PrebuiltChild or ScopedChild"
    )
