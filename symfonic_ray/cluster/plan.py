"""From declarations to the plan of a pool. Everything that can be refused is refused here, before a process starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from symfonic_ray.admission import LimitError, Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.blueprint import SHARED, ChildBlueprint, PoolPlan
from symfonic_ray.cluster.builder import ProviderCannotBuildError, plan_parcel, planned
from symfonic_ray.cluster.shipping import UnshippableError, shipped
from symfonic_ray.cluster.tracing import tracing_wanted
from symfonic_ray.delegation.contracts import ChildBuildPlan
from symfonic_ray.delegation.declarations import ChildDeclaration, ChildSpec, PrebuiltChild, ScopedChild
from symfonic_ray.delegation.errors import ChildBuildError, ChildDeclarationError, DuplicateChildError

KEY_BYTES = 32

_OF_THE_HOST = ("num_cpus", "num_gpus", "memory", "resources", "label_selector", "runtime_env", "replicas", "lazy")


def pool_plan(
    declared: tuple[ChildDeclaration, ...],
    *,
    max_depth: int,
    placements: Mapping[str, Placement],
    limits: PoolLimits,
    run_limits: RunLimits,
    parent_config: Any,
    parent_provider: Any,
    name: str,
) -> PoolPlan:
    """The plan of a pool.

    Raises:
        TypeError: for a declaration of no known form.
        DuplicateChildError, ChildDeclarationError: for children that cannot stand together.
        ChildBuildError: reason ``unpicklable``, with the path to the member in the way.
        LimitError: for limits that contradict one another.
    """
    _check_children(declared, placements)
    specs = tuple(child for child in declared if isinstance(child, ChildSpec))
    plans = planned(specs, parent_config=parent_config, parent_provider=parent_provider)
    hosted = [child for child in declared if not isinstance(child, PrebuiltChild)]
    cycles = _on_cycles({child.name: placements.get(child.name, Placement()).delegates_to for child in hosted})
    children = tuple(
        ChildBlueprint(
            name=child.name,
            description=child.description,
            when_to_use=child.when_to_use,
            parcel=_parcel(child, plans),
            placement=placements.get(child.name, Placement()),
            on_cycle=child.name in cycles,
        )
        for child in hosted
    )
    _check_shared_hosts(children, limits)
    return PoolPlan(
        name=name,
        key=os.urandom(KEY_BYTES),
        children=children,
        max_depth=max_depth,
        limits=limits,
        run_limits=run_limits,
        import_paths=_import_paths(),
        tracing=tracing_wanted(),
    )


def _import_paths() -> tuple[str, ...]:
    """Where this process finds modules that no installation brings, such as a project's ``actors``.

    Ray tells a host only of the script's own folder, and of none at all when an application is an installed command.
    """
    places = dict.fromkeys(str(Path(place or ".").resolve()) for place in sys.path)
    installed = (sys.prefix, sys.base_prefix)
    return tuple(place for place in places if Path(place).is_dir() and not place.startswith(installed))


def _parcel(child: ChildDeclaration, plans: Mapping[str, ChildBuildPlan]) -> bytes | str:
    try:
        if isinstance(child, ScopedChild):
            return shipped(child.build, "build")
        return plan_parcel(plans[child.name])
    except UnshippableError as error:
        raise ChildBuildError(child.name, "unpicklable", str(error)) from None
    except ProviderCannotBuildError as error:
        raise ChildBuildError(child.name, "build_failed", str(error)) from None


def _check_children(declared: tuple[ChildDeclaration, ...], placements: Mapping[str, Placement]) -> None:
    names: set[str] = set()
    for child in declared:
        if not isinstance(child, PrebuiltChild | ChildSpec | ScopedChild):
            raise TypeError(f"a {type(child).__name__} declares no child; use PrebuiltChild, ChildSpec or ScopedChild")
        if child.name in names:
            raise DuplicateChildError(child.name)
        names.add(child.name)
    handed = {child.name for child in declared if isinstance(child, PrebuiltChild)}
    for name, placement in placements.items():
        if name not in names:
            raise ChildDeclarationError(name, f"has a placement, but no such child is declared; known: {_known(names)}")
        if name in handed and placement != Placement(concurrency=placement.concurrency):
            raise ChildDeclarationError(
                name, "is a PrebuiltChild, which runs in the caller's process; only its concurrency can be placed"
            )
        for target in placement.delegates_to:
            if target in handed:
                raise ChildDeclarationError(
                    name, f"delegates to {target!r}, a PrebuiltChild, which no other process can reach"
                )
            if target not in names:
                raise ChildDeclarationError(
                    name, f"delegates to {target!r}, and no such child is declared; known: {_known(names)}"
                )


def _check_shared_hosts(children: tuple[ChildBlueprint, ...], limits: PoolLimits) -> None:
    """Children of one process ask the same of it, and a scope's hosts fit the pool."""
    shared = [child for child in children if child.group == SHARED]
    for child in shared[1:]:
        for name in _OF_THE_HOST:
            if getattr(child.placement, name) != getattr(shared[0].placement, name):
                words = f"{child.name}: {name}"
                allowed = f"the same as for {shared[0].name!r}, with which it shares a process"
                given = "another" if name == "runtime_env" else repr(getattr(child.placement, name))
                raise LimitError(words, given, allowed)
    hosts = sum({child.group: child.placement.replica_range[0] for child in children}.values())
    if hosts > limits.max_hosts:
        raise LimitError("max_hosts", repr(limits.max_hosts), f"at least {hosts}: one scope needs so many")


def _on_cycles(edges: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The children from which ``delegates_to`` leads back to themselves."""
    return frozenset(name for name in edges if name in _reached(name, edges))


def _reached(start: str, edges: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead.extend(edges.get(name, ()))
    return seen


def _known(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no children"
