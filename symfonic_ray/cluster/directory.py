"""Where the children of one scope are served, as one process knows it. Asks the controller, and remembers.

Hand-offs go straight to the host that was found; the controller hears only of hosts that were lost, must go, or are
too few.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from dataclasses import replace
from typing import Any

from symfonic_ray.admission import Lease, Spent, desired_replicas
from symfonic_ray.cluster.blueprint import BuildFailure, PoolPlan, Seat
from symfonic_ray.cluster.courier import Courier
from symfonic_ray.cluster.deadline_timer import DeadlineTimer
from symfonic_ray.cluster.envelope import Address
from symfonic_ray.cluster.gate import Gate
from symfonic_ray.cluster.leases import Leases, OwnLedger
from symfonic_ray.cluster.local_runs import LocalRuns
from symfonic_ray.cluster.remote_call import CallLostError, answer_of
from symfonic_ray.cluster.stop_receipt import StopReceipt
from symfonic_ray.cluster.teardown import GONE_SECONDS, ChildOnHost, CleanUpError
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import REASONS, HandOffFacts

CONTROL_SECONDS = 2.0  # a word to the controller that starts nothing
RESOLUTIONS = 20
RESOLVE_AGAIN_SECONDS = 0.05
GROW_AGAIN_SECONDS = 5.0
LEASE_SECONDS = 10.0
STOP_SECONDS = 15.0  # a stop's own waits, with room for a busy machine
LOCAL_STOP_SECONDS = 1.0  # runs in this process get so long to leave
STOPPED_TREES = 10_000  # remembered, so that their late hand-offs are cancelled too
START_MARGIN_SECONDS = 5.0  # on top of build_seconds, for the way there and back

_LOST = "the fleet's controller is gone, and all its children with it; open the pool again"
_CLOSED = "the scope is being closed; nothing was run"


class HostLink:
    """One host of a child, found."""

    __slots__ = ("child", "courier", "generation", "handle")

    def __init__(self, child: str, seat: Seat, courier: Courier) -> None:
        self.child = child
        self.handle: Any = seat.handle
        self.generation = seat.generation
        self.courier = courier


class Directory:
    """The hosts of one scope.

    Args:
        controller: of the pool.
        scope: whose hosts they are.
        scope_key: its key.
        plan: of the pool.
        gate: what a root hand-off must pass; None inside a host.
    """

    def __init__(self, controller: Any, scope: Any, scope_key: str, plan: PoolPlan, gate: Gate | None = None) -> None:
        self._controller = controller
        self._scope = scope
        self.scope_key = scope_key
        self.gate = gate
        self._plan = plan
        self._links: dict[str, list[HostLink]] = {}
        self._least: dict[str, int] = {child.name: child.placement.replica_range[0] for child in plan.children}
        self._most: dict[str, int] = {child.name: child.placement.replica_range[1] for child in plan.children}
        self._turns = {child.name: child.placement.concurrency for child in plan.children}
        self._finding: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._growing: dict[str, asyncio.Task[None]] = {}
        self._closed_children: set[str] = set()
        self._lost: set[int] = set()  # generations that were lost or stuck; bounded by the restart intensity
        self._grow_after: dict[str, float] = {}
        self._orphaned: dict[HostLink, list[str]] = {}
        self._reports: dict[HostLink, asyncio.Future[None]] = {}
        self.timer = DeadlineTimer(asyncio.get_running_loop())
        """Of the deadlines of this scope's hand-offs."""
        self._own_ledger = OwnLedger(scope_key, plan.run_limits)
        self.leases = Leases(self._lease, limits_tokens=plan.run_limits.max_tokens is not None)
        """Of the hand-offs that runs of this process start."""
        self.stopped_trees: OrderedDict[str, None] = OrderedDict()
        """Roots of the trees that were stopped from here."""
        self.local_runs = LocalRuns()
        """Runs of children in this process."""
        self.closed = False
        """Whether the scope was closed: what fails from then on was cancelled."""

    @property
    def frozen(self) -> bool:
        """Whether the scope takes no work; inside a host its own runs are stopped instead."""
        return self.gate is not None and self.gate.is_frozen(self.scope_key)

    @property
    def thawed(self) -> bool:
        """Whether a host that still calls itself frozen will hear of its thaw in a moment."""
        return self.gate is not None and not self.gate.is_frozen(self.scope_key)

    def admit_local(self, root_run_id: str) -> None:
        """Pass, unless a child in this process may not be run for this tree.

        Raises:
            HandOffFault: ``frozen``, or ``cancelled`` for a tree that was stopped.
        """
        if self.gate is not None:
            self.gate.admit(self.scope_key)
        if root_run_id in self.stopped_trees:
            raise HandOffFault("cancelled", "its tree of runs was stopped; it was not run")

    def use(self, controller: Any) -> None:
        """Ask this controller from now on; it is started only when the first host is needed."""
        self._controller = controller

    def known(self, child: str) -> HostLink | None:
        """The least loaded host of a child that was found before; None when it must be asked for, or may not be."""
        links = self._links.get(child)
        if not links or self.closed:
            return None
        if self._most[child] == 1:
            return links[0]
        link = min(links, key=lambda link: link.courier.load)
        full = link.courier.load >= self._turns[child] and len(links) < self._most[child]
        lacking = len(links) < self._least[child]  # one was lost
        if (full or lacking) and child not in self._growing and self.timer.now() >= self._grow_after.get(child, 0.0):
            self._growing[child] = asyncio.ensure_future(self._grow(child))
        return link

    async def link(self, child: str) -> HostLink:
        """A host of the child, built by the controller if there is none.

        Raises:
            HandOffFault: with the reason why there is none.
        """
        async with self._finding[child]:
            if self.closed or child in self._closed_children:
                raise HandOffFault("shutting_down", _CLOSED)
            if (known := self.known(child)) is not None:
                return known
            for _ in range(RESOLUTIONS):
                seconds = self._plan.limits.build_seconds + START_MARGIN_SECONDS
                asked = self._controller.resolve.remote(self._scope, self.scope_key, child)
                seats = await self._heard(asked, seconds)
                if isinstance(seats, BuildFailure):
                    reason = seats.reason if seats.reason in REASONS else "build_failed"
                    raise HandOffFault(reason, f"the child cannot be reached: {seats.cause}")
                self._took(child, seats)
                if self._links[child]:
                    return self._links[child][0]
                await asyncio.sleep(RESOLVE_AGAIN_SECONDS)  # the word that these hosts are lost is on its way
            raise HandOffFault("busy", "the child's lost host was not replaced in time; nothing was run")

    def _took(self, child: str, seats: tuple[Seat, ...]) -> None:
        known = {link.generation: link for link in self._links.get(child, ())}
        alive = [seat for seat in seats if seat.generation not in self._lost]
        self._links[child] = [known.get(seat.generation) or self._linked(child, seat) for seat in alive]

    def _linked(self, child: str, seat: Seat) -> HostLink:
        address = Address(self.scope_key, child, seat.generation)
        return HostLink(child, seat, Courier(seat.handle, address, key=self._plan.key))

    async def _grow(self, child: str) -> None:
        """Ask for one more host; what comes of it is taken up, a failure leaves things as they are for a while."""
        before = len(self._links.get(child, ()))
        try:
            links = self._links.get(child, [])
            load = sum(link.courier.load for link in links)
            turns = self._turns[child]
            wanted = desired_replicas(
                len(links),
                least=self._least[child],
                most=self._most[child],
                in_flight=min(load, len(links) * turns),
                waiting=max(0, load - len(links) * turns) + 1,
                concurrency=turns,
                idle_seconds=0.0,
            )
            if wanted > len(links):
                seconds = self._plan.limits.build_seconds + START_MARGIN_SECONDS
                asked = self._controller.grow.remote(self._scope, self.scope_key, child, wanted)
                seats = await self._heard(asked, seconds)
                if not isinstance(seats, BuildFailure) and not self.closed:
                    self._took(child, seats)
        except HandOffFault:
            return
        finally:
            self._growing.pop(child, None)
            if len(self._links.get(child, ())) <= before:
                self._grow_after[child] = self.timer.now() + GROW_AGAIN_SECONDS

    async def shrink(self, now: float) -> None:
        """Let go of one host of each child that has had more than it needs for a while; ``now`` is loop time."""
        for child, links in tuple(self._links.items()):
            least = self._least[child]
            if len(links) <= least:
                continue
            idlest = min(links, key=lambda link: (link.courier.load, link.courier.last_used))
            load = sum(link.courier.load for link in links)
            wanted = desired_replicas(
                len(links),
                least=least,
                most=self._most[child],
                in_flight=load,
                waiting=0,
                concurrency=self._turns[child],
                idle_seconds=now - idlest.courier.last_used if not idlest.courier.load else 0.0,
            )
            if wanted < len(links):
                links.remove(idlest)
                asked = self._controller.shrink.remote(self.scope_key, child, idlest.generation)
                limits = self._plan.limits
                graces = limits.flush_seconds + limits.close_seconds + limits.terminate_seconds
                if not await self._heard(asked, graces + START_MARGIN_SECONDS):  # it works for another caller
                    self._links.pop(child, None)

    async def _lease(self, root_run_id: str, wanted: int, tokens: int) -> Lease:
        if self._controller is None:  # no child of this pool needs a host
            return await self._own_ledger.ask(root_run_id, wanted, tokens)
        asked = self._controller.lease.remote(self.scope_key, root_run_id, wanted, tokens)
        lease: Lease = await self._heard(asked, LEASE_SECONDS)
        return lease

    async def spent(self, root_run_id: str) -> Spent:
        """What a tree has spent.

        Raises:
            HandOffFault: ``controller_lost`` or ``timeout``.
        """
        if self._controller is None:
            return self._own_ledger.spent(root_run_id)
        spent: Spent = await self._heard(self._controller.spent.remote(self.scope_key, root_run_id), CONTROL_SECONDS)
        return spent

    async def stop_tree(self, root_run_id: str) -> StopReceipt:
        """Stop every run of one tree, wherever in the scope it runs, and let none of it start any more.

        Raises:
            HandOffFault: ``controller_lost``, all hosts being gone with it, or ``timeout``.
        """
        self.stopped_trees[root_run_id] = None
        if len(self.stopped_trees) > STOPPED_TREES:
            self.stopped_trees.popitem(last=False)
        here = self.local_runs.stop("its tree of runs was stopped", root_run_id)
        receipt = StopReceipt(root_run_id=root_run_id)
        if self._controller is not None:
            asked = self._controller.stop_tree.remote(self.scope_key, root_run_id)
            receipt = await self._heard(asked, STOP_SECONDS)
        if not here:
            return receipt
        await asyncio.wait([run.task for run in here], timeout=LOCAL_STOP_SECONDS)
        ended = tuple(run.run_id for run in here if run.task.done())
        return replace(
            receipt,
            stopped=tuple(sorted((*receipt.stopped, *ended))),
            spent_after=receipt.spent_after + len(here) - len(ended),
        )

    def forget(self, link: HostLink) -> None:
        """Ask for the child's hosts again at the next hand-off."""
        links = self._links.get(link.child, [])
        if link in links:
            links.remove(link)

    def lose(self, link: HostLink) -> None:
        """Never use a host again that is gone or must go."""
        self.forget(link)
        self._lost.add(link.generation)

    def lose_generations(self, generations: tuple[int, ...]) -> None:
        """Never use these hosts again; somebody else had them killed."""
        for links in tuple(self._links.values()):
            for link in tuple(links):
                if link.generation in generations:
                    self.lose(link)

    async def retire(self, link: HostLink, why: str, run_id: str) -> None:
        """Have a host killed, by whatever was found to be wrong with it; its next hand-off builds another.

        What the lost run had handed on is cancelled too, wherever in the scope it runs.

        Raises:
            HandOffFault: ``controller_lost``.
        """
        self.lose(link)
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
        """Let a child finish its background work, where a host of it is up.

        Raises:
            CleanUpError: with what went wrong.
        """
        for link in tuple(self._links.get(child, ())):
            await ChildOnHost(link.handle, child, self._plan.limits).flush_background_tasks()

    async def close(self, child: str) -> None:
        """Close a child for good; its host goes with its last child.

        Raises:
            CleanUpError: with what went wrong.
        """
        self._closed_children.add(child)
        problems = []
        for link in self._links.pop(child, ()):
            try:
                await ChildOnHost(link.handle, child, self._plan.limits).aclose()
            except CleanUpError as problem:
                problems.append(problem)
            asked = self._controller.closed.remote(self.scope_key, child, link.generation)
            await self._heard(asked, CONTROL_SECONDS + self._plan.limits.terminate_seconds + GONE_SECONDS)
        if problems:
            raise problems[0]

    @property
    def shut(self) -> bool:
        """Whether a child was closed for good, so that the scope must be made anew before it can be entered."""
        return bool(self._closed_children)

    async def _heard(self, asked: Any, seconds: float) -> Any:
        try:
            return await answer_of(asked, seconds)
        except TimeoutError:
            raise HandOffFault("timeout", f"the fleet's controller gave no answer in {seconds:g} seconds") from None
        except CallLostError:
            if self.closed:
                raise HandOffFault("shutting_down", _CLOSED, HandOffFacts()) from None
            raise HandOffFault("controller_lost", _LOST) from None
