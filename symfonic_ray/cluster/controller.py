"""The one actor of a fleet that owns its hosts. A thin shell: keeps the directory, starts, replaces and ends hosts.

Every host is a child of this process, and this process of the driver, so that all die with whoever dies above them.
Hand-offs do not pass through here.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from symfonic_ray.admission import Lease, RestartHistory, RestartIntensity, Spent, TreeLedger, staggered
from symfonic_ray.cluster.birth import Birth, Places
from symfonic_ray.cluster.blueprint import BuildFailure, PoolPlan, Seat
from symfonic_ray.cluster.fault_log import KEPT_EVENTS, EventKind, HostEvent
from symfonic_ray.cluster.seats import ScopeSeats
from symfonic_ray.cluster.stop_receipt import StopReceipt
from symfonic_ray.delegation.values import TeardownReport
from symfonic_ray.kernel.rate_limits import RATE_LIMITS

HISTORIES = 1_000  # histories of deaths kept before quiet ones are forgotten


@dataclass(frozen=True, slots=True)
class ScopeCount:
    """What lives for one scope."""

    hosts: int
    quarantined: dict[str, str]
    """Children that are not started for a while, with why."""


@dataclass(frozen=True, slots=True)
class ControllerCount:
    """What lives in a pool, and what befell its hosts."""

    warm_hosts: int
    scopes: dict[str, ScopeCount]
    events: tuple[HostEvent, ...] = ()
    paused: dict[str, float] = field(default_factory=dict)
    """Providers that are not to be asked for so many seconds."""


class FleetController:
    """Directory and owner of the hosts of one pool.

    Args:
        places: where hosts are started.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._plan: PoolPlan | None = None
        self._birth: Birth | None = None
        self._ledger: TreeLedger | None = None
        self._scopes: dict[str, ScopeSeats] = {}
        self._composing: dict[str, asyncio.Task[tuple[BuildFailure, ...]]] = {}
        self._histories: dict[tuple[str, str], RestartHistory] = {}
        self._closing: dict[str, asyncio.Task[TeardownReport]] = {}
        self._frozen: tuple[bool, frozenset[str]] = (False, frozenset())
        self._events: deque[HostEvent] = deque(maxlen=KEPT_EVENTS)
        self._numbers = itertools.count(1)

    async def take(self, plan: PoolPlan) -> int:
        """Take over a pool; gives this process's id. Said again, it changes nothing."""
        if self._plan is not None:
            return os.getpid()
        self._plan = plan
        self._ledger = TreeLedger(plan.run_limits)
        self._birth = Birth(self._places.controller(), plan.limits, self._places)
        self._birth.warm.fill()
        return os.getpid()

    async def ping(self) -> int:
        """This process's id."""
        return os.getpid()

    async def compose(self, scope: Any, scope_key: str, returning: bool = False) -> tuple[BuildFailure, ...]:
        """Build a scope's children; on failure everything of a new scope is ended before the answer.

        Args:
            scope: whose children.
            scope_key: its key.
            returning: whether it was live before, so that its first records say ``fresh``.
        """
        if scope_key not in self._composing:
            task = asyncio.create_task(self._compose(scope, scope_key, returning))
            self._composing[scope_key] = task
            task.add_done_callback(lambda _: self._composing.pop(scope_key, None))
        return await asyncio.shield(self._composing[scope_key])

    async def _compose(self, scope: Any, scope_key: str, returning: bool) -> tuple[BuildFailure, ...]:
        if (ending := self._closing.get(scope_key)) is not None:
            await asyncio.wait((ending,))
        plan, birth = self._taken()
        created = False
        seats = self._scopes.get(scope_key)
        if seats is None:
            created = True
            seats = self._scopes[scope_key] = ScopeSeats(
                scope,
                scope_key,
                plan,
                birth,
                returning=returning,
                history_of=lambda group: self._history(scope_key, group),
                note=partial(self._note, scope_key),
                paused=RATE_LIMITS.paused,
            )
            seats.frozen = self._is_frozen(scope_key)
        failures = await seats.compose()
        if failures and created:  # a scope that others hold goes on with what it has
            await self.close_scope(scope_key)
        return failures

    def _history(self, scope_key: str, group: str) -> RestartHistory:
        now = time.monotonic()
        if len(self._histories) > HISTORIES:
            self._histories = {key: kept for key, kept in self._histories.items() if not kept.is_quiet(now=now)}
        return self._histories.setdefault((scope_key, group), RestartHistory(RestartIntensity()))

    async def resolve(self, scope: Any, scope_key: str, child: str) -> tuple[Seat, ...] | BuildFailure:
        """The hosts that serve a child, built again if they were lost."""
        plan, _ = self._taken()
        seats = self._scopes.get(scope_key)
        if seats is None:
            return BuildFailure(child, "shutting_down", "its scope is closed")
        return await seats.seats(plan.child(child).group)

    async def grow(self, scope: Any, scope_key: str, child: str, wanted: int) -> tuple[Seat, ...] | BuildFailure:
        """The hosts that serve a child, one more of them where pool and placement have room."""
        plan, _ = self._taken()
        seats = self._scopes.get(scope_key)
        if seats is None:
            return BuildFailure(child, "shutting_down", "its scope is closed")
        full = sum(one.hosts for one in self._scopes.values()) >= plan.limits.max_hosts
        return await seats.seats(plan.child(child).group, 1 if full else wanted)

    async def shrink(self, scope_key: str, child: str, generation: int) -> bool:
        """End one host of a child that has more than it needs; False when the host works for somebody after all."""
        plan, _ = self._taken()
        seats = self._scopes.get(scope_key)
        return seats is None or await seats.shrink(plan.child(child).group, generation)

    async def lease(self, scope_key: str, root_run_id: str, wanted: int, tokens: int = 0) -> Lease:
        """Reserve hand-offs below one root of a scope, and note the tokens that were used there."""
        assert self._ledger is not None, "take() comes first"
        return self._ledger.lease(scope_key, root_run_id, wanted, now=time.monotonic(), tokens=tokens)

    async def spent(self, scope_key: str, root_run_id: str) -> Spent:
        """What a tree has spent below its root."""
        assert self._ledger is not None, "take() comes first"
        return self._ledger.spent(scope_key, root_run_id)

    async def stop_tree(self, scope_key: str, root_run_id: str) -> StopReceipt:
        """Stop every run of one tree of a scope, and let none of it start any more."""
        seats = self._scopes.get(scope_key)
        return StopReceipt(root_run_id=root_run_id) if seats is None else await seats.stop_tree(root_run_id)

    async def freeze(self, everything: bool, scope_keys: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Freeze these scopes, or all, and thaw the others.

        Returns:
            Generations of the hosts that were killed, since a run did not end, by scope key.
        """
        self._frozen = (everything, frozenset(scope_keys))
        changed = {key: seats for key, seats in self._scopes.items() if seats.frozen is not self._is_frozen(key)}
        killed = await asyncio.gather(*(seats.freeze(self._is_frozen(key)) for key, seats in changed.items()))
        return {key: generations for key, generations in zip(changed, killed, strict=True) if generations}

    def _is_frozen(self, scope_key: str) -> bool:
        everything, scope_keys = self._frozen
        return everything or scope_key in scope_keys

    async def retire(
        self, scope_key: str, child: str, generation: int, why: str, orphaned: tuple[str, ...] = ()
    ) -> None:
        """Kill a host that a caller found lost or stuck, and cancel what its runs had handed on.

        Args:
            scope_key: of the host.
            child: one that the host served.
            generation: of the host; an earlier one changes nothing.
            why: for the reason of a quarantine.
            orphaned: runs that the caller had at the host.
        """
        plan, _ = self._taken()
        if (seats := self._scopes.get(scope_key)) is not None:
            await seats.retire(plan.child(child).group, generation, why)
            if orphaned:
                await seats.cancel_below(orphaned)

    async def closed(self, scope_key: str, child: str, generation: int) -> None:
        """A caller has closed a child for good."""
        plan, _ = self._taken()
        if (seats := self._scopes.get(scope_key)) is not None:
            await seats.closed(child, plan.child(child).group, generation)

    async def close_scope(self, scope_key: str) -> TeardownReport:
        """End a scope's hosts; calls at the same time share one report."""
        if scope_key not in self._closing:
            self._closing[scope_key] = asyncio.create_task(self._close_scope(scope_key))
        return await asyncio.shield(self._closing[scope_key])

    async def _close_scope(self, scope_key: str) -> TeardownReport:
        try:
            seats = self._scopes.get(scope_key)
            return TeardownReport(verb="flush+aclose") if seats is None else await seats.close()
        finally:
            self._scopes.pop(scope_key, None)
            self._closing.pop(scope_key, None)

    async def close(self) -> dict[str, TeardownReport]:
        """End every scope, side by side, and the blank hosts; reports by scope key."""
        keys = tuple(self._scopes)
        _, birth = self._taken()
        reports = await asyncio.gather(*(self.close_scope(key) for key in keys))
        await birth.warm.close()
        return dict(zip(keys, reports, strict=True))

    async def rate_limited(self, key: str, seconds: float) -> None:
        """A provider refused for now: let no host of the fleet ask it, and let them come back one after the other."""
        if RATE_LIMITS.pause(key, seconds):
            hosts = {scope: seats.handles for scope, seats in self._scopes.items()}
            for handle, wait in staggered(hosts, seconds):
                handle.pause.remote(key, wait)

    async def stats(self, heard: int = 0) -> ControllerCount:
        """What lives now, and what befell hosts after the event with the number ``heard``."""
        _, birth = self._taken()
        while self._events and self._events[0].number <= heard:
            self._events.popleft()
        scopes = {key: ScopeCount(seats.hosts, seats.quarantined) for key, seats in self._scopes.items()}
        return ControllerCount(
            warm_hosts=birth.warm.ready, scopes=scopes, events=tuple(self._events), paused=RATE_LIMITS.paused()
        )

    def _note(self, scope_key: str, kind: EventKind, child: str, generation: int, why: str) -> None:
        self._events.append(
            HostEvent(
                number=next(self._numbers),
                kind=kind,
                scope_key=scope_key,
                child=child,
                generation=generation,
                why=why,
                at=time.time(),
            )
        )

    def _taken(self) -> tuple[PoolPlan, Birth]:
        assert self._plan is not None, "take() comes first"
        assert self._birth is not None
        return self._plan, self._birth
