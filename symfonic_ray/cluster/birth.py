"""How a host comes to be: an actor process, ready and bound, or a typed reason why not, within a deadline."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from symfonic_ray.admission import Placement, PoolLimits
from symfonic_ray.cluster.blueprint import BuildFailure, HostBinding, Seat
from symfonic_ray.cluster.remote_call import CallLostError, answer_of
from symfonic_ray.cluster.teardown import end_process, kill
from symfonic_ray.cluster.warm import WarmHosts, is_ordinary

T = TypeVar("T")

WARM_SECONDS = 1.0


class Places(Protocol):
    """Where host processes are started; handles have no type, since Ray's have none."""

    def controller(self) -> Any:
        """Handle of the controller that this process is."""

    def start(self, placement: Placement) -> Any:
        """Handle of a new blank host; ``ValueError`` or ``TypeError`` for a placement that can never be."""

    def why_not_placed(self, placement: Placement) -> tuple[str, str]:
        """``infeasible`` when no node could ever take the host, else ``busy``; and what is missing."""


class Birth:
    """Starts the hosts of one pool. Whoever holds it owns them: they die with that process.

    Args:
        controller: handle of the controller, for the hosts' own hand-offs.
        limits: of the pool.
        places: where processes are started.
    """

    def __init__(self, controller: Any, limits: PoolLimits, places: Places) -> None:
        self.controller = controller
        self._places = places
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
                handle = self._places.start(first.placement)
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
            end_process(handle)
            raise

    async def _warm(self, placement: Placement) -> Any | None:
        """A blank host that still answers, where a blank one would do."""
        while is_ordinary(placement) and (handle := self.warm.take()) is not None:
            try:
                await answer_of(handle.ping.remote(), WARM_SECONDS)
            except (TimeoutError, CallLostError):
                await kill(handle)
            else:
                return handle
        return None

    async def _blank(self) -> Any | None:
        """A host that is bound to nothing yet; None when it did not come up in time."""
        placement = Placement()
        handle = self._places.start(placement)
        if await self._ready(handle, "", placement, time.monotonic() + self._build_seconds) is None:
            return handle
        await kill(handle)
        return None

    async def _ready(self, handle: Any, child: str, placement: Placement, expires_at: float) -> BuildFailure | None:
        try:
            await answer_of(handle.ping.remote(), expires_at - time.monotonic())
        except TimeoutError:
            return BuildFailure(child, *await asyncio.to_thread(self._places.why_not_placed, placement))
        except CallLostError as error:
            fault = error.fault
            reason = fault.reason if fault.reason in ("infeasible", "build_failed") else "build_failed"
            return BuildFailure(child, reason, fault.words)
        return None

    async def _bound(self, handle: Any, binding: HostBinding, child: str, expires_at: float) -> int | BuildFailure:
        try:
            pid, failures = await answer_of(handle.bind.remote(binding), expires_at - time.monotonic())
        except TimeoutError:
            words = f"its build did not end within {self._build_seconds:g} seconds"
            return BuildFailure(child, "build_timeout", words)
        except CallLostError as error:
            return BuildFailure(child, "build_failed", f"while it was being built: {error.fault.words}")
        return failures[0] if failures else int(pid)
