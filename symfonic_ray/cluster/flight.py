"""One hand-off of a bulk fan-out, without a task of its own. The same checks, waits and record as a single hand-off.

A task and its coroutines cost as much as all else that a quick hand-off needs. So what goes well is done in callbacks;
whatever goes wrong, or must wait for a host, falls back to a task and the runner's own code.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from symfonic_ray.cluster.courier import new_call_id
from symfonic_ray.cluster.deadline_timer import TimerEntry
from symfonic_ray.cluster.directory import HostLink
from symfonic_ray.cluster.envelope import HandOffRow, ReplyRow
from symfonic_ray.cluster.runner import ANSWER_GRACE_SECONDS, HandOff, RemoteChild, surely
from symfonic_ray.cluster.wire_text import wire_bytes
from symfonic_ray.delegation.capability import DelegationCapability
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.records import fault_record, response_record
from symfonic_ray.delegation.tracing import hand_off_span, tell_record
from symfonic_ray.delegation.values import DelegationOutcome, DelegationRecord
from symfonic_ray.kernel import current_deadline, new_run_id
from symfonic_ray.kernel.spans import current_tracer
from symfonic_ray.kernel.text import about, failure_line

Land = Callable[[DelegationRecord], None]


class FlightPlan:
    """What the flights of one fan-out share: the run that makes them, its depth and its deadline. Read once."""

    __slots__ = ("depth", "ended", "limit", "parent_run_id", "run")

    def __init__(self, delegation: DelegationCapability, ended: Land | None) -> None:
        self.ended = ended
        context = delegation.context
        self.depth = delegation.depth.child_depth(context.current_depth())
        _, self.parent_run_id = delegation.tools.lineage()
        self.run = context.current_run()
        self.limit = current_deadline()


class Flight(HandOff):
    """A hand-off to a hosted child that is the root of its own tree; ``take_off`` starts it.

    Args:
        child: the child.
        query: the task as text.
        plan: of the fan-out.
        land_record: hears of the record, once; never when the flight was aborted.
    """

    __slots__ = ("_child", "_held", "_land_record", "_link", "_overdue", "_plan", "_span", "_started", "_task")

    def __init__(self, child: RemoteChild, query: str, plan: FlightPlan, land_record: Land) -> None:
        run_id = new_run_id()
        tracer = current_tracer()
        self._span = None if tracer is None else hand_off_span(tracer, child.name, plan.depth)
        above = None if self._span is None else self._span.traceparent
        row = HandOffRow(new_call_id(), query, plan.depth, run_id, run_id, None, (), None, above)
        HandOff.__init__(self, row, wire_bytes(query), child.seconds_under(plan.limit), child.directory.scope_key)
        self._child = child
        self._plan = plan
        self._land_record: Land | None = land_record
        self._started = time.perf_counter()
        self._held = False
        self._link: HostLink | None = None
        self._overdue: TimerEntry | None = None
        self._task: asyncio.Task[None] | None = None

    def take_off(self) -> Flight:
        """Ask for a slot, and go when there is one; a refusal lands a little later, as every record does."""
        gate = self._child.directory.gate
        try:
            self._child.check(self)
            self.position = None if gate is None else gate.ask(self.scope_key, self._go)
        except HandOffFault as fault:
            refusal = HandOffFault(fault.reason, fault.message, self.facts(), fault.outcome)
            asyncio.get_running_loop().call_soon(self._end, self._fault_record(refusal))
            return self
        if self.position is None:
            self._go()
        else:
            self._overdue = self._child.directory.timer.add(self.expires_at, self._queued_too_long)
        return self

    def _go(self, refusal: HandOffFault | None = None) -> None:
        directory = self._child.directory
        directory.timer.drop(self._overdue)
        if refusal is not None:
            refused = HandOffFault(refusal.reason, refusal.message, self.facts(), refusal.outcome)
            asyncio.get_running_loop().call_soon(self._end, self._fault_record(refused))
            return
        self._held = directory.gate is not None
        if self._land_record is None:  # aborted in the very tick in which its turn came
            self._release()
            return
        link = self._link = directory.known(self._child.name)
        if link is None:
            self._task = asyncio.get_running_loop().create_task(self._carried())
            return
        self.generation = link.generation
        self.hear(self._landed)
        link.courier.send(self)
        self._overdue = directory.timer.add(self.expires_at + ANSWER_GRACE_SECONDS, self.expire)

    def _landed(self, outcome: ReplyRow | Exception) -> None:
        self._child.directory.timer.drop(self._overdue)
        if isinstance(outcome, Exception):
            self._task = asyncio.get_running_loop().create_task(self._failed(outcome))
        elif outcome.reason or outcome.records:
            self._task = asyncio.get_running_loop().create_task(self._settled(outcome))
        else:
            row = self.row
            self._end(
                DelegationRecord(
                    name=self._child.name,
                    outcome=DelegationOutcome.DELIVERED,
                    depth=self._plan.depth,
                    message=outcome.final_response.strip(),
                    run_id=row.run_id,
                    root_run_id=row.root_run_id,
                    parent_run_id=row.parent_run_id,
                    usage=outcome.usage,
                    seconds=time.perf_counter() - self._started,
                    scope_key=self.scope_key,
                    generation=self.generation,
                    fresh=outcome.fresh,
                    queue_position=self.position,
                )
            )

    async def _settled(self, reply: ReplyRow) -> None:
        assert self._link is not None
        if await self._child.again(self._link, reply, self):
            await self._carried()
            return
        try:
            answer = self._child.answer(reply, self)
        except HandOffFault as fault:
            self._end(self._fault_record(fault))
        except Exception as error:  # a record all the same, and the slot given back
            self._end(self._fault_record(self.fault("exception", failure_line(error))))
        else:
            self._end(response_record(self._child.name, self._plan.depth, self._started, answer))

    async def _failed(self, error: Exception) -> None:
        assert self._link is not None
        fault = await surely(self._child.lost(self._link, error, self))
        self._end(self._fault_record(fault))

    async def _carried(self) -> None:
        try:
            answer = await self._child.carried(self)
        except HandOffFault as fault:
            self._end(self._fault_record(fault))
        except Exception as error:
            self._end(self._fault_record(self.fault("exception", failure_line(error))))
        else:
            self._end(response_record(self._child.name, self._plan.depth, self._started, answer))

    def _queued_too_long(self) -> None:
        gate = self._child.directory.gate
        if gate is not None and gate.withdraw(self.scope_key, self._go):
            words = f"agent {self._child.name!r}: no answer within {about(self.seconds)} seconds; it was still queued"
            self._end(self._fault_record(self.fault("timeout", words)))

    def _fault_record(self, fault: HandOffFault) -> DelegationRecord:
        return fault_record(self._child.name, self._plan.depth, self._started, fault)

    def _end(self, record: DelegationRecord) -> None:
        land, self._land_record = self._land_record, None
        self._release()
        if self._span is not None:
            tell_record(self._span, record)
            self._span.end()
        if land is not None:
            if self._plan.ended is not None:
                self._plan.ended(record)
            if self._plan.run is not None and record.outcome.delivered:
                self._plan.run.record(record.name)
            land(record)

    def _release(self) -> None:
        gate = self._child.directory.gate
        if self._held and gate is not None:
            self._held = False
            gate.leave(self.scope_key)

    async def abort(self) -> None:
        """Cancel it; nobody hears of a record any more. Returns when the child has been stopped or killed."""
        self._land_record = None
        if self._span is not None:
            self._span.fail("cancelled")
            self._span.end()
        gate = self._child.directory.gate
        self._child.directory.timer.drop(self._overdue)
        if gate is not None and gate.withdraw(self.scope_key, self._go):
            return
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait((self._task,))
            elif self._link is not None:
                self.drop()
                await self._child.stop(self._link, self)
        finally:
            self._release()


class TaskFlight:
    """A hand-off of a bulk fan-out in a task of its own: for children in this process, refusals and watched fleets."""

    __slots__ = ("_land", "_name", "_started", "_task")

    def __init__(self, name: object, work: Coroutine[Any, Any, DelegationRecord], land: Land) -> None:
        self._name = name
        self._started = time.perf_counter()
        self._land = land
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[DelegationRecord]) -> None:
        if task.cancelled():
            fault = HandOffFault("cancelled", "the hand-off was cancelled by somebody else")
        elif (error := task.exception()) is None:
            self._land(task.result())
            return
        else:
            fault = HandOffFault("exception", failure_line(error))
        self._land(fault_record(self._name, 0, self._started, fault))

    async def abort(self) -> None:
        """Cancel it; nobody hears of a record any more."""
        self._task.remove_done_callback(self._ended)
        self._task.cancel()
        await asyncio.wait((self._task,))
