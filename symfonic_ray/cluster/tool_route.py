"""Where the calls of one tool run, and what of the tool is sent there. Sends each tool once; runs none."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import ray

from symfonic_ray.cluster.shipping import UnshippableError, shipped
from symfonic_ray.delegation import DelegationToolSpec
from symfonic_ray.execution import AdmittedCall, NotRunnableError, ToolDescriptor, descriptor_of
from symfonic_ray.execution.body import body_of
from symfonic_ray.kernel import new_run_id

TOOLS_KEPT = 256
INLINE_BYTES = 2048  # a function that a worker can import takes some 80; a reference to one, and its upkeep, more

Lane = Literal["here", "shared", "alone"]


@dataclass(frozen=True, slots=True)
class Route:
    """How the calls of one tool go."""

    tool: Any
    """Held, so that its identity stays its own. Any: tools are foreign."""
    descriptor: ToolDescriptor
    lane: Lane
    """``here``: in the calling process; ``shared``: with others in one task; ``alone``: in a task of its own."""
    why: str = ""
    """Why it is ``here``, for the trace; empty for a tool that cannot be called at all."""
    key: str = ""
    """What a worker knows the tool by."""
    parcel: Any = None
    """The pickled tool, or Ray's reference to it where it is not small."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Resources as Ray's task options."""
    cooperative: bool = True
    """Whether a running call hears a cancellation: its body is asynchronous."""

    @property
    def needs(self) -> Mapping[str, float]:
        """Resources as Ray counts those of a machine."""
        options = dict(self.options)
        named = {"CPU": options["num_cpus"], "GPU": options.get("num_gpus", 0), "memory": options.get("memory", 0)}
        return {name: amount for name, amount in {**named, **options.get("resources", {})}.items() if amount}

    @property
    def chunkable(self) -> bool:
        """Whether several calls may go one after another in one task."""
        return self.lane == "alone" and self.descriptor.idempotent and not self.cooperative


class ToolRoutes:
    """The routes of the tools seen so far; a tool is sent as it is when it is first called."""

    def __init__(self, num_cpus: float) -> None:
        """Hold none.

        Args:
            num_cpus: cores of a task whose tool names none.
        """
        self._num_cpus = num_cpus
        self._mark = new_run_id()  # workers are shared, and two dispatchers must not share a tool's state
        self._routes: OrderedDict[tuple[int, str], Route] = OrderedDict()
        self._made = 0

    def of(self, one: AdmittedCall) -> Route:
        """The route of a call's tool; sends the tool where that has not been done."""
        asked = (id(one.tool), one.call.name)
        if asked not in self._routes:
            self._routes[asked] = self._route(one)
            if len(self._routes) > TOOLS_KEPT:
                self._routes.popitem(last=False)
        return self._routes[asked]

    def _route(self, one: AdmittedCall) -> Route:
        tool, name = one.tool, one.call.name
        try:
            body = body_of(tool)
            descriptor = descriptor_of(tool, name)
        except NotRunnableError:
            return Route(tool, ToolDescriptor(name), "here")
        if descriptor.placement == "process":
            return Route(tool, descriptor, "here", "the tool says that it belongs to this process")
        if isinstance(tool, DelegationToolSpec):
            return Route(tool, descriptor, "here", "a hand-off needs the run that makes it")
        try:
            parcel = shipped(tool, name)
        except UnshippableError as error:
            return Route(tool, descriptor, "here", f"{error.path} cannot be sent to another process ({error.cause})")
        self._made += 1
        own = _resources(descriptor)
        return Route(
            tool,
            descriptor,
            "shared" if descriptor.isolation == "shared" and not own else "alone",
            key=f"{self._mark}-{self._made:x}",
            parcel=parcel if len(parcel) <= INLINE_BYTES else ray.put(parcel),
            options={"num_cpus": self._num_cpus, **own},
            cooperative=body.asynchronous,
        )


def _resources(descriptor: ToolDescriptor) -> dict[str, Any]:
    """What a descriptor asks for, as Ray's task options; empty where it leaves all to the dispatcher."""
    asked = {
        "num_cpus": descriptor.num_cpus,
        "num_gpus": descriptor.num_gpus or None,
        "memory": descriptor.memory,
        "resources": dict(descriptor.resources) or None,
    }
    return {name: amount for name, amount in asked.items() if amount is not None}
