"""The hosts of one scope, as the controller keeps them. Starts and ends hosts; decides only what may be rebuilt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.admission import RestartHistory
from symfonic_ray.cluster.birth import Birth
from symfonic_ray.cluster.blueprint import BuildFailure, HostBinding, PoolPlan, Seat
from symfonic_ray.cluster.fault_log import EventKind
from symfonic_ray.cluster.remote_call import CallLostError, answer_of
from symfonic_ray.cluster.stop_receipt import StoppedAtHost, StopReceipt
from symfonic_ray.cluster.teardown import end_host, kill, leave, until_gone
from symfonic_ray.delegation.values import TeardownReport

PROBE_SECONDS = 2.0
REMEMBER_SECONDS = 60.0  # a stopped tree's hand-offs that are still on their way to a host that was not there yet
STOP_GRACE_SECONDS = 1.0  # runs of a stopped tree get so long to leave; then their host is killed


Note = Callable[[EventKind, str, int, str], None]
"""Told the kind of an event, the first child of the host, the host's generation, and why."""


@dataclass(slots=True)
class _Group:
    """The replicas of the children that share a host."""

    history: RestartHistory
    seats: list[Seat] = field(default_factory=list)
    building: asyncio.Task[BuildFailure | None] | None = None
    lost_before: bool = False
    """Whether an earlier life was lost, so that the next one's first record says ``fresh``."""
    closed: dict[int, set[str]] = field(default_factory=dict)
    """Children that were closed for good, by generation of their host."""
    last_loss: str = ""
    quarantined: bool = False
    refilling: asyncio.Task[tuple[Seat, ...] | BuildFailure] | None = None
    """Brings a group back to its least number of hosts; held here, since the loop keeps only a weak reference."""


class ScopeSeats:
    """Who serves which children of one scope.

    Args:
        scope: the scope.
        scope_key: its key.
        plan: of the pool.
        birth: starts hosts.
        returning: whether the scope lived before and was closed, so that its children begin anew.
        history_of: the deaths of a group, which outlive the scope: closing it must not lift a quarantine.
        note: hears of what befalls hosts.
        paused: tells which providers are not to be asked, and for how long.
    """

    def __init__(
        self,
        scope: Any,
        scope_key: str,
        plan: PoolPlan,
        birth: Birth,
        *,
        returning: bool,
        history_of: Callable[[str], RestartHistory],
        note: Note,
        paused: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._scope = scope
        self.scope_key = scope_key
        self._plan = plan
        self._birth = birth
        self._returning = returning
        self._history_of = history_of
        self._note = note
        self._paused = paused
        self._groups: dict[str, _Group] = {}
        self._stops = 0
        self._stopped_trees: dict[str, float] = {}
        self.closing = False
        self.frozen = False
        """Whether its hosts take no work, those that are built from now on too."""

    @property
    def hosts(self) -> int:
        """Hosts that live or are being built."""
        return sum(len(group.seats) + (group.building is not None) for group in self._groups.values())

    @property
    def handles(self) -> tuple[Any, ...]:
        """Handles of all hosts."""
        return tuple(seat.handle for group in self._groups.values() for seat in group.seats)

    @property
    def quarantined(self) -> dict[str, str]:
        """Children that are not started for a while, with why."""
        now = time.monotonic()
        return {
            child.name: group.last_loss
            for name, group in self._groups.items()
            if group.quarantined and not group.history.admits(now=now)
            for child in self._plan.group(name)
        }

    async def compose(self) -> tuple[BuildFailure, ...]:
        """Build every child that is not lazy; what failed, empty when all stand."""
        groups = dict.fromkeys(child.group for child in self._plan.children if not child.placement.lazy)
        await asyncio.gather(*(self._probe(group) for group in groups))
        results = await asyncio.gather(*(self.seats(group) for group in groups))
        return tuple(result for result in results if isinstance(result, BuildFailure))

    async def seats(self, name: str, wanted: int = 1) -> tuple[Seat, ...] | BuildFailure:
        """The hosts of a group, at least as many as ``wanted`` and as the placement's least; one build for all who ask.

        A failure to start one more than there are is no failure of those that are there.
        """
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(self._history_of(name), lost_before=self._returning)
        least, most = self._plan.group(name)[0].placement.replica_range
        wanted = min(max(wanted, least), most)
        failure: BuildFailure | None = None
        while len(group.seats) < wanted and failure is None:
            if self.closing:
                failure = BuildFailure(self._first(name), "shutting_down", "the scope is being closed")
            elif group.building is None and not group.history.admits(now=time.monotonic()):
                why = f"its process was lost too often ({group.last_loss}); it is not started again for a while"
                if not group.quarantined:
                    group.quarantined = True
                    self._note("quarantine", self._first(name), 0, group.last_loss)
                failure = BuildFailure(self._first(name), "quarantined", why)
            else:
                if group.building is None:
                    group.building = asyncio.create_task(self._build(name, group))
                failure = await self._built(name, group.building)
        return tuple(group.seats) if group.seats else failure or ()

    async def _built(self, name: str, building: asyncio.Task[BuildFailure | None]) -> BuildFailure | None:
        await asyncio.wait((building,))
        if building.cancelled():
            return BuildFailure(self._first(name), "shutting_down", "the scope is being closed")
        return building.result()

    async def _build(self, name: str, group: _Group) -> BuildFailure | None:
        try:
            born = await self._birth.host(
                lambda generation: HostBinding(
                    plan=self._plan,
                    scope=self._scope,
                    scope_key=self.scope_key,
                    group=name,
                    generation=generation,
                    rebuilt=group.lost_before,
                    controller=self._birth.controller,
                    paused=self._paused(),
                )
            )
            if isinstance(born, Seat):
                group.seats.append(born)
                group.quarantined = False
                if group.last_loss:
                    self._note("restart", self._first(name), born.generation, group.last_loss)
                    group.last_loss = ""
                await self._caught_up(name, born)
                group.lost_before = self._returning  # a further replica of a scope that never lived before is not fresh
                return None
            if not group.seats:  # one more that did not come up says nothing against those that are there
                group.history.died(now=time.monotonic())
                group.last_loss = born.reason
            return born
        finally:
            group.building = None

    async def _caught_up(self, name: str, born: Seat) -> None:
        """Tell a new host what the others were told while it was being built."""
        now = time.monotonic()
        self._stopped_trees = {root: at for root, at in self._stopped_trees.items() if now - at < REMEMBER_SECONDS}
        await asyncio.gather(*(self._refused_at(born, root) for root in self._stopped_trees))
        if self.frozen:
            await self._frozen_at(name, born, True)

    async def _probe(self, name: str) -> None:
        """Notice hosts that died while nobody called them, so that a scope is never entered with a dead one."""
        group = self._groups.get(name)
        for seat in tuple(group.seats) if group is not None else ():
            try:
                await answer_of(seat.handle.ping.remote(), PROBE_SECONDS)
            except TimeoutError:
                continue
            except CallLostError:
                await self.retire(name, seat.generation, "died while idle")

    async def retire(self, name: str, generation: int, why: str) -> None:
        """Kill a host that was found lost or stuck; a word about an earlier one changes nothing."""
        group, seat = self._taken(name, generation)
        if group is not None and seat is not None:
            if why != "node_died" and not self._stops:  # the machine's fault or a stop's doing, not the child's
                group.history.died(now=time.monotonic())
                group.last_loss = why
            group.lost_before = True
            self._note("kill", self._first(name), generation, why)
            await kill(seat.handle)
            if group.seats and not self.closing:  # nobody need ask for it: the others serve meanwhile
                group.refilling = asyncio.ensure_future(self.seats(name))

    async def shrink(self, name: str, generation: int) -> bool:
        """End one replica that is not needed: flushed, closed, let go; False when it works for somebody after all."""
        group = self._groups.get(name)
        for seat in group.seats if group is not None else ():
            if seat.generation == generation:
                try:
                    if await answer_of(seat.handle.in_flight.remote(), PROBE_SECONDS):
                        return False
                except (TimeoutError, CallLostError):
                    return False
        _, seat_taken = self._taken(name, generation)
        if seat_taken is not None:
            names = tuple(child.name for child in self._plan.group(name))
            await end_host(seat_taken.handle, names, self._plan.limits)
        return True

    async def cancel_below(self, runs: tuple[str, ...]) -> None:
        """Stop, at every host of the scope, what these runs and their descendants had handed on."""
        asked = [seat.handle.cancel_below.remote(runs) for group in self._groups.values() for seat in group.seats]
        await asyncio.gather(*(answer_of(one, PROBE_SECONDS) for one in asked), return_exceptions=True)

    async def stop_tree(self, root_run_id: str) -> StopReceipt:
        """Stop one tree's runs at every host of the scope; a host where one does not end is killed.

        All hosts refuse the tree before the first run is stopped, so that nothing starts anew meanwhile.
        """
        self._stops += 1
        self._stopped_trees[root_run_id] = time.monotonic()
        try:
            places = [(name, seat) for name, group in self._groups.items() for seat in group.seats]
            told = await asyncio.gather(*(self._refused_at(seat, root_run_id) for _, seat in places))
            ends = await asyncio.gather(
                *(
                    self._stopped_at(name, seat, root_run_id, present)
                    for (name, seat), (present, _) in zip(places, told, strict=True)
                )
            )
        finally:
            self._stops -= 1
        known = {run_id for present, _ in told for run_id in present}
        stopped = {run_id for end in ends for run_id in end.stopped}
        killed = {run_id for end in ends for run_id in end.running} - stopped
        ended = {run_id for _, already in told for run_id in already}
        return StopReceipt(
            root_run_id=root_run_id,
            stopped=tuple(sorted(stopped)),
            killed=tuple(sorted(killed)),
            finished=tuple(sorted((known | ended) - stopped - killed)),
            spent_after=len((stopped | killed) - known),
        )

    async def freeze(self, frozen: bool) -> tuple[int, ...]:
        """Let every host of the scope refuse work and stop its runs, or take work again.

        Returns:
            Generations of the hosts that were killed, since a run did not end.
        """
        self.frozen = frozen
        self._stops += 1  # what is killed now did not die by its own fault
        try:
            return await self._frozen_everywhere(frozen)
        finally:
            self._stops -= 1

    async def _frozen_everywhere(self, frozen: bool) -> tuple[int, ...]:
        places = [(name, seat) for name, group in self._groups.items() for seat in group.seats]
        held = await asyncio.gather(*(self._frozen_at(name, seat, frozen) for name, seat in places))
        return tuple(seat.generation for (_, seat), well in zip(places, held, strict=True) if not well)

    async def _frozen_at(self, name: str, seat: Seat, frozen: bool) -> bool:
        try:
            asked = seat.handle.freeze.remote(frozen, STOP_GRACE_SECONDS)
            if await answer_of(asked, STOP_GRACE_SECONDS + PROBE_SECONDS):
                return True
        except (TimeoutError, CallLostError):  # it answers nobody: whatever runs in it must end
            pass
        await self.retire(name, seat.generation, "did not stop")
        await until_gone(seat.pid)
        return False

    async def _refused_at(self, seat: Seat, root_run_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            asked = seat.handle.refuse_tree.remote(root_run_id)
            told: tuple[tuple[str, ...], tuple[str, ...]] = await answer_of(asked, PROBE_SECONDS)
        except (TimeoutError, CallLostError):
            return (), ()
        return told

    async def _stopped_at(self, name: str, seat: Seat, root_run_id: str, present: tuple[str, ...]) -> StoppedAtHost:
        try:
            asked = seat.handle.stop_tree.remote(root_run_id, STOP_GRACE_SECONDS)
            end: StoppedAtHost = await answer_of(asked, STOP_GRACE_SECONDS + PROBE_SECONDS)
        except (TimeoutError, CallLostError):  # it answers nobody, or a caller had it killed
            end = StoppedAtHost(running=present)
        else:
            if not end.running:
                return end
        await self.retire(name, seat.generation, "did not stop")
        await until_gone(seat.pid)
        return end

    async def closed(self, child: str, name: str, generation: int) -> None:
        """Note that a child of a host was closed for good; the host leaves with its last child."""
        group = self._groups.get(name)
        if group is None:
            return
        closed = group.closed.setdefault(generation, set())
        closed.add(child)
        if closed >= {blueprint.name for blueprint in self._plan.group(name)}:
            _, seat = self._taken(name, generation)
            if seat is not None:
                await leave(seat.handle, self._plan.limits.terminate_seconds)

    async def close(self) -> TeardownReport:
        """End every host of the scope, side by side."""
        self.closing = True
        builds = [group.building for group in self._groups.values() if group.building is not None]
        for build in builds:
            build.cancel()  # it kills its process
        if builds:
            await asyncio.wait(builds, timeout=PROBE_SECONDS)
        ends = []
        for name, group in self._groups.items():
            for seat in group.seats:
                closed = group.closed.get(seat.generation, set())
                names = tuple(child.name for child in self._plan.group(name) if child.name not in closed)
                ends.append(end_host(seat.handle, names, self._plan.limits))
            group.seats = []
        whole = TeardownReport(verb="flush+aclose")
        for report in await asyncio.gather(*ends):
            whole = TeardownReport(
                verb=whole.verb,
                attempted=whole.attempted + report.attempted,
                failures=whole.failures + report.failures,
            )
        return whole

    def _taken(self, name: str, generation: int) -> tuple[_Group | None, Seat | None]:
        """Take one host out of its group."""
        group = self._groups.get(name)
        for seat in group.seats if group is not None else ():
            if seat.generation == generation and group is not None:
                group.seats.remove(seat)
                group.closed.pop(generation, None)
                return group, seat
        return group, None

    def _first(self, name: str) -> str:
        return self._plan.group(name)[0].name
