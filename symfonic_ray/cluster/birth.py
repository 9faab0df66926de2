"""How a host comes to be: an actor process, ready and bound, or a typed reason why not, within a deadline."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError

from symfonic_ray.admission import Placement, PoolLimits
from symfonic_ray.cluster.blueprint import BuildFailure, HostBinding, Seat
from symfonic_ray.cluster.child_host import ChildHostActor
from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.remote_call import answer_of
from symfonic_ray.cluster.teardown import kill
from symfonic_ray.cluster.warm import WarmHosts, is_ordinary

T = TypeVar("T")
_NODES: Callable[[], list[dict[str, Any]]] = ray.nodes

WARM_SECONDS = 1.0
MAX_CONCURRENCY = 10_000  # Ray's own bound must never be ours: a low one deadlocks re-entrant trees in silence


class Birth:
    """Starts the hosts of one pool. Whoever holds it owns them: they die with that process.

    Args:
        controller: handle of the controller, for the hosts' own hand-offs.
        limits: of the pool.
    """

    def __init__(self, controller: Any, limits: PoolLimits) -> None:
        self.controller = controller
        self._build_seconds = limits.build_seconds
        self._generations = itertools.count(1)
        self.warm = WarmHosts(limits.warm_hosts, self._blank)

    async def host(self, binding_of: Callable[[int], HostBinding]) -> Seat | BuildFailure:
        """A host with its children built in it: a blank one that is at hand, else a new one.

        On any failure the process is killed before the answer: nothing half-built stays alive.
        """
        binding = binding_of(next(self._generations))
        first = binding.plan.group(binding.group)[0]
        expires_at = time.monotonic() + self._build_seconds
        handle = await self._warm(first.placement)
        if handle is None:
            try:
                handle = ChildHostActor.options(**actor_options(first.placement)).remote()
            except (ValueError, TypeError) as error:
                return BuildFailure(first.name, "build_failed", f"Ray refuses its placement: {error}")
            failure = await self._guarded(handle, self._ready(handle, first.name, first.placement, expires_at))
            if failure is not None:
                await kill(handle)
                return failure
        bound = await self._guarded(handle, self._bound(handle, binding, first.name, expires_at))
        if isinstance(bound, BuildFailure):
            await kill(handle)
            return bound
        self.warm.fill()
        return Seat(handle, binding.generation, bound)

    async def _guarded(self, handle: Any, step: Coroutine[Any, Any, T]) -> T:
        """A step of a birth; its process is killed when the step is cut short or fails in a way nobody foresaw."""
        try:
            return await step
        except BaseException:
            with suppress(Exception):
                ray.kill(handle, no_restart=True)
            raise

    async def _warm(self, placement: Placement) -> Any | None:
        """A blank host that still answers, where a blank one would do."""
        while is_ordinary(placement) and (handle := self.warm.take()) is not None:
            try:
                await answer_of(handle.ping.remote(), WARM_SECONDS)
            except (TimeoutError, RayError):
                await kill(handle)
            else:
                return handle
        return None

    async def _blank(self) -> Any | None:
        """A host that is bound to nothing yet; None when it did not come up in time."""
        placement = Placement()
        handle = ChildHostActor.options(**actor_options(placement)).remote()
        if await self._ready(handle, "", placement, time.monotonic() + self._build_seconds) is None:
            return handle
        await kill(handle)
        return None

    async def _ready(self, handle: Any, child: str, placement: Placement, expires_at: float) -> BuildFailure | None:
        try:
            await answer_of(handle.ping.remote(), expires_at - time.monotonic())
        except TimeoutError:
            return BuildFailure(child, *await asyncio.to_thread(why_not_placed, placement))
        except RayError as error:
            fault = classify(error)
            reason = fault.reason if fault.reason in ("infeasible", "build_failed") else "build_failed"
            return BuildFailure(child, reason, fault.words)
        return None

    async def _bound(self, handle: Any, binding: HostBinding, child: str, expires_at: float) -> int | BuildFailure:
        try:
            pid, failures = await answer_of(handle.bind.remote(binding), expires_at - time.monotonic())
        except TimeoutError:
            words = f"its build did not end within {self._build_seconds:g} seconds"
            return BuildFailure(child, "build_timeout", words)
        except RayError as error:
            return BuildFailure(child, "build_failed", f"while it was being built: {classify(error).words}")
        return failures[0] if failures else int(pid)


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
