"""The fleet inside a host: what one child may hand work to, and where its records go."""

from __future__ import annotations

from typing import Any

from symfonic_ray.cluster.blueprint import ChildBlueprint, HostBinding
from symfonic_ray.cluster.directory import Directory
from symfonic_ray.cluster.fleet import ScopedFleet
from symfonic_ray.cluster.hosted_run import HOSTED_RUN
from symfonic_ray.cluster.runner import RemoteChild
from symfonic_ray.delegation.fleet import HandOffEvent
from symfonic_ray.delegation.roster import RosterEntry


def fleet_inside(binding: HostBinding, blueprint: ChildBlueprint) -> ScopedFleet:
    """The children that ``blueprint`` names in ``delegates_to``; a child is a leaf unless declared."""
    plan = binding.plan
    fleet = ScopedFleet(plan, binding.scope, binding.scope_key)
    directory = Directory(binding.controller, binding.scope, binding.scope_key, plan)
    entries = []
    for name in blueprint.placement.delegates_to:
        child = plan.child(name)
        runner = RemoteChild(
            name, directory, limits=plan.run_limits, payload_bytes=plan.limits.payload_bytes, keep=_keep
        )
        entries.append(
            RosterEntry(name=name, description=child.description, runner=runner, when_to_use=child.when_to_use)
        )
    fleet.equip(entries, directory)
    fleet.observe(_note)
    return fleet


def _keep(record: dict[str, Any]) -> None:
    run = HOSTED_RUN.current()
    if run is not None:
        run.keep(record)


def _note(event: HandOffEvent) -> None:
    run = HOSTED_RUN.current()
    if run is not None:
        run.note(event)
