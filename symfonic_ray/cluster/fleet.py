"""The children of one scope, as a parent holds them: in the driver, or inside a host for a run's own hand-offs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from typing import Any

from symfonic_ray.admission import Spent
from symfonic_ray.cluster.blueprint import PoolPlan
from symfonic_ray.cluster.directory import Directory
from symfonic_ray.cluster.fan_out import FanOut, Launch, Launched
from symfonic_ray.cluster.flight import Flight, FlightPlan, TaskFlight
from symfonic_ray.cluster.hosted_run import HOSTED_RUN
from symfonic_ray.cluster.runner import RemoteChild
from symfonic_ray.cluster.stop_receipt import StopReceipt
from symfonic_ray.delegation.capability import DelegationCapability
from symfonic_ray.delegation.context import DelegationContext
from symfonic_ray.delegation.depth import DepthPolicy
from symfonic_ray.delegation.fleet import FleetTasks, HandOffEnded, HandOffEvent
from symfonic_ray.delegation.lifecycle import ChildLifecycle
from symfonic_ray.delegation.roster import DelegationRoster, RosterEntry, task_text
from symfonic_ray.delegation.tools import DelegationTools
from symfonic_ray.delegation.values import DelegationOutcome, DelegationRecord
from symfonic_ray.kernel import Deadline, deadline

Listener = Callable[[HandOffEvent], None]
Ended = Callable[[DelegationRecord], None]
"""Hears of every hand-off that has ended; must not raise."""


class ScopedFleet:
    """One scope's children. Made by ``pool.scope(...)``, or found by ``current_fleet()`` inside a run."""

    def __init__(self, plan: PoolPlan, scope: Any, scope_key: str, *, ended: Ended | None = None) -> None:
        self._plan = plan
        self._ended = ended
        self._listeners: list[Listener] = []
        self._delegation: DelegationCapability | None = None
        self._directory: Directory | None = None
        self.scope = scope
        self.scope_key = scope_key

    def equip(
        self, entries: Iterable[RosterEntry], directory: Directory, *, context: DelegationContext | None = None
    ) -> None:
        """Give the fleet its children; once, by whoever makes it."""
        self._directory = directory
        rows = tuple(entries)
        context = context or DelegationContext(resolve_scope=lambda: self.scope)
        depth = DepthPolicy(self._plan.max_depth)
        roster = DelegationRoster(rows)
        owned = [row for row in rows if row.owned]
        limits = self._plan.limits
        self._delegation = DelegationCapability(
            roster=roster,
            tools=DelegationTools(roster=roster, depth=depth, context=context, ended=self._ended),
            lifecycle=ChildLifecycle(
                [row.runner for row in owned],
                grace_seconds=max(limits.flush_seconds, limits.close_seconds) + limits.terminate_seconds + 5.0,
                names=[row.name for row in owned],
            ),
            context=context,
            depth=depth,
        )

    @property
    def delegation(self) -> DelegationCapability:
        """The capability that a parent agent is given."""
        assert self._delegation is not None, "the fleet was never equipped"
        return self._delegation

    async def delegate(self, name: str, task: Any, *, timeout_seconds: float | None = None) -> DelegationRecord:
        """One hand-off; always one record, unless the caller itself is cancelled.

        Args:
            name: a child of this fleet; any other name gives an ``UNKNOWN_CHILD`` record.
            task: a string, or JSON-like data that becomes JSON text.
            timeout_seconds: at most so long; None for the tree's ``max_seconds``. Inside a run the run's own
                remaining time, less a reserve, bounds it too.
        """
        if timeout_seconds is None:
            limit: Any = nullcontext()
        else:
            if not timeout_seconds > 0:
                raise ValueError(f"timeout_seconds is {timeout_seconds!r}; give a number above 0, or None")
            limit = deadline(Deadline.after(timeout_seconds, now=time.monotonic()))
        with limit:
            return await self.delegation.tools.delegate(name, task)

    def fan_out(self, tasks: FleetTasks, *, in_flight: int = 64, ordered: bool = False) -> FanOut:
        """Many hand-offs, at most ``in_flight`` at once.

        Args:
            tasks: an iterable or async iterable of ``(name, task)``; read only as places become free.
            ordered: records in the order of the tasks instead of as they finish.
        """
        return FanOut(self._launcher(), tasks, in_flight=in_flight, ordered=ordered)

    async def cancel(self, root_run_id: str) -> StopReceipt:
        """Stop a whole tree of runs: every descendant in every host, and whatever of it would start later.

        A run that does not end within a second is killed with its host, and so are the runs of other trees there.
        The tree's records are ``CHILD_FAILED`` with reason ``cancelled``, late ones too. A child that runs in this
        process is cancelled, but nobody may kill it; the code that holds the root's own run here goes on without
        children.

        Args:
            root_run_id: the run at the top of the tree; one that is unknown gives an empty receipt.
        Raises:
            RuntimeError: inside a child's run, which may narrow its tree's life but end no other's.
            HandOffFault: ``controller_lost``, all hosts being gone with it, or ``timeout``.
        """
        if HOSTED_RUN.current() is not None:
            raise RuntimeError("a run asked to stop a tree; only who holds the scope may: call it where pool.scope is")
        assert self._directory is not None, "the fleet was never equipped"
        return await self._directory.stop_tree(root_run_id)

    async def spent(self, root_run_id: str) -> Spent:
        """What a tree of runs has spent below its root, over all processes: hand-offs, and tokens of their answers.

        The root's own usage is in its record. A tree that is unknown, or was long ago, has spent nothing.

        Raises:
            HandOffFault: ``controller_lost`` or ``timeout``.
        """
        assert self._directory is not None, "the fleet was never equipped"
        return await self._directory.spent(root_run_id)

    def _launcher(self) -> Launch:
        """What starts the hand-offs of a fan-out: without tasks of their own where nobody watches them one by one."""
        delegation = self.delegation
        plan = FlightPlan(delegation, self._ended)
        in_bulk = (
            HOSTED_RUN.current() is None
            and plan.parent_run_id is None  # below a run each one is counted in its tree
            and delegation.tools.observer is None
            and delegation.depth.admits(delegation.context.current_depth())
        )
        roster = delegation.roster

        def launch(name: Any, task: Any, land: Callable[[DelegationRecord], None]) -> Launched:
            row = roster.find(name) if in_bulk else None
            if row is not None and isinstance(row.runner, RemoteChild):
                return Flight(row.runner, task_text(task), plan, land).take_off()
            return TaskFlight(name, self.delegate(name, task), land)

        return launch

    def observe(self, listener: Listener) -> Callable[[], None]:
        """Tell ``listener`` of every hand-off as it starts and ends, those further down the tree included.

        Returns:
            A function that ends it. A listener that raises changes nothing.
        """
        self._listeners.append(listener)
        self.delegation.tools.observer = self._tell

        def end() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)
            if not self._listeners:
                self.delegation.tools.observer = None

        return end

    def keep(self, record: Mapping[str, Any]) -> None:
        """Report a record that came up from further down the tree."""
        if not self._listeners and self._ended is None:
            return
        below = DelegationRecord(**dict(record) | {"outcome": DelegationOutcome(str(record["outcome"]))})
        if self._ended is not None:
            self._ended(below)
        if self._listeners:
            self._tell(HandOffEnded(None, below))

    def _tell(self, event: HandOffEvent) -> None:
        for listener in tuple(self._listeners):
            with suppress(Exception):
                listener(event)
