"""The actors of a fleet and where they start: all that hosts and controller need of Ray itself. Decides no hand-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ray
import ray._raylet
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from symfonic_ray.admission import Placement
from symfonic_ray.cluster.child_host import CONTROL, ChildHost
from symfonic_ray.cluster.controller import FleetController

_NODES: Callable[[], list[dict[str, Any]]] = ray.nodes
_RAYLET: Any = ray._raylet  # compiled: its names have no types

MAX_CONCURRENCY = 10_000  # Ray's own bound must never be ours: a low one deadlocks re-entrant trees in silence

for _method in CONTROL:
    ray.method(concurrency_group="control")(_method)

ChildHostActor: Any = ray.remote(  # type: ignore[call-overload]  # Ray's own types lack concurrency_groups
    concurrency_groups={"control": 64}, max_restarts=0, max_task_retries=0
)(ChildHost)
FleetControllerActor: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(FleetController)


class RayTitles:
    """The title of a process of Ray."""

    def getproctitle(self) -> str:
        """The title now."""
        return str(_RAYLET.getproctitle())

    def setproctitle(self, title: str) -> None:
        """Another title."""
        _RAYLET.setproctitle(title)


class RayPlaces:
    """Hosts as actors, owned by the process that starts them."""

    def controller(self) -> Any:
        """Handle of the actor that this process is."""
        return ray.get_runtime_context().current_actor

    def start(self, placement: Placement) -> Any:
        """Handle of a new blank host."""
        return ChildHostActor.options(**actor_options(placement)).remote(RayTitles())

    def why_not_placed(self, placement: Placement) -> tuple[str, str]:
        """``infeasible`` when no node could ever take the host, else ``busy``; and what is missing."""
        return why_not_placed(placement)


def start_controller() -> Any:
    """Handle of a new controller, on this machine where it can be."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return FleetControllerActor.options(scheduling_strategy=here).remote(RayPlaces())


def actor_options(placement: Placement) -> dict[str, Any]:
    """A placement in Ray's words."""
    options: dict[str, Any] = {
        "num_cpus": placement.num_cpus,
        "max_concurrency": MAX_CONCURRENCY,
        "scheduling_strategy": "DEFAULT" if placement.label_selector else "SPREAD",
    }
    if placement.num_gpus:
        options["num_gpus"] = placement.num_gpus
    if placement.memory is not None:
        options["memory"] = placement.memory
    if placement.resources:
        options["resources"] = dict(placement.resources)
    if placement.label_selector:
        options["label_selector"] = dict(placement.label_selector)
    if placement.runtime_env is not None:
        options["runtime_env"] = dict(placement.runtime_env)
    return options


def why_not_placed(placement: Placement) -> tuple[str, str]:
    """``infeasible`` when no node could ever take the host, else ``busy``; and what is missing."""
    asked = {"CPU": placement.num_cpus, "GPU": placement.num_gpus, **placement.resources}
    if placement.memory is not None:
        asked["memory"] = placement.memory
    asked = {name: amount for name, amount in asked.items() if amount}
    nodes = [node["Resources"] for node in _NODES() if node["Alive"]]
    for name, amount in asked.items():
        most = max((node.get(name, 0.0) for node in nodes), default=0.0)
        if amount > most:
            return "infeasible", f"it asks for {amount:g} {name}, and the largest node has {most:g}"
    if placement.label_selector and not asked:
        return "infeasible", f"no node with the labels {dict(placement.label_selector)} took it in time"
    words = ", ".join(f"{amount:g} {name}" for name, amount in asked.items()) or "a process"
    return "busy", f"the cluster did not give it {words} in time; others hold it, or the machine is overloaded"
