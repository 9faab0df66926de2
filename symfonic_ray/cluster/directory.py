"""Where the children of one scope are served, as one process knows it. Asks the controller, and remembers.

Hand-offs go straight to the host that was found; the controller hears only of hosts that were lost or must go.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from ray.exceptions import RayError

from symfonic_ray.cluster.blueprint import BuildFailure, PoolPlan, Seat
from symfonic_ray.cluster.courier import Courier
from symfonic_ray.cluster.deadline_timer import DeadlineTimer
from symfonic_ray.cluster.envelope import Address
from symfonic_ray.cluster.remote_call import answer_of
from symfonic_ray.cluster.teardown import GONE_SECONDS, ChildOnHost
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import REASONS, HandOffFacts

CONTROL_SECONDS = 2.0  # a word to the controller that starts nothing
START_MARGIN_SECONDS = 5.0  # on top of build_seconds, for the way there and back

_LOST = "the fleet's controller is gone, and all its children with it; open the pool again"
_CLOSED = "the scope is being closed; nothing was run"


class HostLink:
    """A child's host, found."""

    __slots__ = ("child", "courier", "generation", "handle")

    def __init__(self, child: str, seat: Seat, courier: Courier) -> None:
        self.child = child
        self.handle: Any = seat.handle
        self.generation = seat.generation
        self.courier = courier


class Directory:
    """The hosts of one scope."""

    def __init__(self, controller: Any, scope: Any, scope_key: str, plan: PoolPlan) -> None:
        self._controller = controller
        self._scope = scope
        self.scope_key = scope_key
        self._plan = plan
        self._links: dict[str, HostLink] = {}
        self._finding: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed_children: set[str] = set()
        self._orphaned: dict[HostLink, list[str]] = {}
        self._reports: dict[HostLink, asyncio.Future[None]] = {}
        self.timer = DeadlineTimer(asyncio.get_running_loop())
        """Of the deadlines of this scope's hand-offs."""
        self.closed = False
        """Whether the scope was closed: what fails from then on was cancelled."""

    def known(self, child: str) -> HostLink | None:
        """The child's host where it was found before; None when it must be asked for, or may not be."""
        return None if self.closed else self._links.get(child)

    async def link(self, child: str) -> HostLink:
        """The child's host, built again by the controller if it was lost.

        Raises:
            HandOffFault: with the reason why there is none.
        """
        async with self._finding[child]:
            if self.closed or child in self._closed_children:
                raise HandOffFault("shutting_down", _CLOSED)
            if (known := self._links.get(child)) is not None:
                return known
            seconds = self._plan.limits.build_seconds + START_MARGIN_SECONDS
            asked = self._controller.resolve.remote(self._scope, self.scope_key, child)
            seat = await self._heard(asked, seconds)
            if isinstance(seat, BuildFailure):
                reason = seat.reason if seat.reason in REASONS else "build_failed"
                raise HandOffFault(reason, f"the child cannot be reached: {seat.cause}")
            address = Address(self.scope_key, child, seat.generation)
            link = self._links[child] = HostLink(child, seat, Courier(seat.handle, address, key=self._plan.key))
            return link

    def forget(self, link: HostLink) -> None:
        """Ask for the child's host again at the next hand-off."""
        if self._links.get(link.child) is link:
            del self._links[link.child]

    async def retire(self, link: HostLink, why: str, run_id: str) -> None:
        """Have a host killed, by whatever was found to be wrong with it; its next hand-off builds another.

        What the lost run had handed on is cancelled too, wherever in the scope it runs.

        Raises:
            HandOffFault: ``controller_lost``.
        """
        self.forget(link)
        orphaned = self._orphaned.setdefault(link, [])
        orphaned.append(run_id)
        if len(orphaned) == 1:
            self._reports[link] = asyncio.ensure_future(self._report(link, why))
        await asyncio.shield(self._reports[link])

    async def _report(self, link: HostLink, why: str) -> None:
        await asyncio.sleep(0)  # a host's death is found by all its callers in one tick: one word for all of them
        runs = tuple(self._orphaned.pop(link))
        try:
            asked = self._controller.retire.remote(self.scope_key, link.child, link.generation, why, runs)
            await self._heard(asked, CONTROL_SECONDS + self._plan.limits.terminate_seconds)
        finally:
            if link not in self._orphaned:
                self._reports.pop(link, None)

    async def flush(self, child: str) -> None:
        """Let a child finish its background work, where its host is up.

        Raises:
            CleanUpError: with what went wrong.
        """
        if (link := self._links.get(child)) is not None:
            await ChildOnHost(link.handle, child, self._plan.limits).flush_background_tasks()

    async def close(self, child: str) -> None:
        """Close a child for good; its host goes with its last child.

        Raises:
            CleanUpError: with what went wrong.
        """
        self._closed_children.add(child)
        link = self._links.pop(child, None)
        if link is None:
            return
        try:
            await ChildOnHost(link.handle, child, self._plan.limits).aclose()
        finally:
            asked = self._controller.closed.remote(self.scope_key, child, link.generation)
            await self._heard(asked, CONTROL_SECONDS + self._plan.limits.terminate_seconds + GONE_SECONDS)

    async def _heard(self, asked: Any, seconds: float) -> Any:
        try:
            return await answer_of(asked, seconds)
        except TimeoutError:
            raise HandOffFault("timeout", f"the fleet's controller gave no answer in {seconds:g} seconds") from None
        except RayError:
            if self.closed:
                raise HandOffFault("shutting_down", _CLOSED, HandOffFacts()) from None
            raise HandOffFault("controller_lost", _LOST) from None
