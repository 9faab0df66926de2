"""The hosts of one scope, as the controller keeps them. Starts and ends hosts; decides only what may be rebuilt."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from ray.exceptions import RayError

from symfonic_ray.admission import RestartHistory, RestartIntensity
from symfonic_ray.cluster.birth import Birth
from symfonic_ray.cluster.blueprint import BuildFailure, HostBinding, PoolPlan, Seat
from symfonic_ray.cluster.remote_call import answer_of
from symfonic_ray.cluster.teardown import end_host, kill, leave
from symfonic_ray.delegation.values import TeardownReport

PROBE_SECONDS = 2.0


@dataclass(slots=True)
class _Place:
    """One host of the scope: present, being built, or lost."""

    history: RestartHistory
    seat: Seat | None = None
    building: asyncio.Task[Seat | BuildFailure] | None = None
    lives: int = 0
    closed: set[str] = field(default_factory=set)
    last_loss: str = ""


class ScopeSeats:
    """Who serves which children of one scope."""

    def __init__(self, scope: Any, scope_key: str, plan: PoolPlan, birth: Birth) -> None:
        self._scope = scope
        self.scope_key = scope_key
        self._plan = plan
        self._birth = birth
        self._places: dict[str, _Place] = {}
        self.closing = False

    @property
    def hosts(self) -> int:
        """Hosts that live or are being built."""
        return sum(place.seat is not None or place.building is not None for place in self._places.values())

    async def compose(self) -> tuple[BuildFailure, ...]:
        """Build every child that is not lazy; what failed, empty when all stand."""
        groups = dict.fromkeys(child.group for child in self._plan.children if not child.placement.lazy)
        await asyncio.gather(*(self._probe(group) for group in groups))
        results = await asyncio.gather(*(self.seat(group) for group in groups))
        return tuple(result for result in results if isinstance(result, BuildFailure))

    async def seat(self, group: str) -> Seat | BuildFailure:
        """The host of a group, built if there is none; one build however many ask."""
        place = self._places.get(group)
        if place is None:
            intensity = RestartIntensity()
            place = self._places[group] = _Place(RestartHistory(intensity))
        if place.seat is not None:
            return place.seat
        if self.closing:
            return BuildFailure(self._first(group), "shutting_down", "the scope is being closed")
        if place.building is None:
            if not place.history.admits(now=time.monotonic()):
                why = f"its process was lost too often ({place.last_loss}); it is not started again for a while"
                return BuildFailure(self._first(group), "quarantined", why)
            place.building = asyncio.create_task(self._build(group, place))
        return await asyncio.shield(place.building)

    async def _build(self, group: str, place: _Place) -> Seat | BuildFailure:
        try:
            born = await self._birth.host(
                lambda generation: HostBinding(
                    plan=self._plan,
                    scope=self._scope,
                    scope_key=self.scope_key,
                    group=group,
                    generation=generation,
                    rebuilt=place.lives > 0,
                    controller=self._birth.controller,
                )
            )
            if isinstance(born, Seat):
                place.seat, place.lives, place.closed = born, place.lives + 1, set()
            else:
                place.history.died(now=time.monotonic())
                place.last_loss = born.reason
            return born
        finally:
            place.building = None

    async def _probe(self, group: str) -> None:
        """Notice a host that died while nobody called it, so that a scope is never entered with a dead one."""
        place = self._places.get(group)
        if place is None or place.seat is None:
            return
        seat = place.seat
        try:
            await answer_of(seat.handle.ping.remote(), PROBE_SECONDS)
        except TimeoutError:
            return
        except RayError:
            await self.retire(group, seat.generation, "died while idle")

    async def retire(self, group: str, generation: int, why: str) -> None:
        """Kill a host that was found lost or stuck; a word about an earlier one changes nothing."""
        place = self._places.get(group)
        if place is None or place.seat is None or place.seat.generation != generation:
            return
        seat, place.seat = place.seat, None
        place.history.died(now=time.monotonic())
        place.last_loss = why
        await kill(seat.handle)

    async def cancel_below(self, runs: tuple[str, ...]) -> None:
        """Stop, at every host of the scope, what these runs and their descendants had handed on."""
        asked = [place.seat.handle.cancel_below.remote(runs) for place in self._places.values() if place.seat]
        await asyncio.gather(*(answer_of(one, PROBE_SECONDS) for one in asked), return_exceptions=True)

    async def closed(self, child: str, group: str, generation: int) -> None:
        """Note that a child of a host was closed for good; the host leaves with its last child."""
        place = self._places.get(group)
        if place is None or place.seat is None or place.seat.generation != generation:
            return
        place.closed.add(child)
        if place.closed >= {blueprint.name for blueprint in self._plan.group(group)}:
            seat, place.seat = place.seat, None
            await leave(seat.handle, self._plan.limits.terminate_seconds)

    async def close(self) -> TeardownReport:
        """End every host of the scope, side by side."""
        self.closing = True
        builds = [place.building for place in self._places.values() if place.building is not None]
        if builds:
            await asyncio.wait(builds)  # bounded: a build has its own deadline
        ends = [
            end_host(
                place.seat.handle,
                tuple(child.name for child in self._plan.group(group) if child.name not in place.closed),
                self._plan.limits,
            )
            for group, place in self._places.items()
            if place.seat is not None
        ]
        reports = await asyncio.gather(*ends)
        for place in self._places.values():
            place.seat = None
        whole = TeardownReport(verb="flush+aclose")
        for report in reports:
            whole = TeardownReport(
                verb=whole.verb,
                attempted=whole.attempted + report.attempted,
                failures=whole.failures + report.failures,
            )
        return whole

    def _first(self, group: str) -> str:
        return self._plan.group(group)[0].name
