"""A child that lives in another process, as a runner. Owns the waiting: deadline, cancellation, and what was lost.

Every wait here is bounded. A call that ran out of time or was cancelled is stopped where it runs before the caller
leaves; what does not stop within its grace is killed with its host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from symfonic_ray.admission import RunLimits
from symfonic_ray.cluster.courier import OverdueError, Parcel, new_call_id
from symfonic_ray.cluster.directory import Directory, HostLink
from symfonic_ray.cluster.envelope import EnvelopeError, HandOffRow, ReplyRow
from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.gate import frozen_fault
from symfonic_ray.cluster.hosted_run import HOSTED_RUN, HostedRun
from symfonic_ray.cluster.remote_call import CallLostError
from symfonic_ray.cluster.wire_text import wire_bytes
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import DelegationOutcome, HandOffFacts, HandOffReply
from symfonic_ray.kernel import Deadline, current_deadline, new_run_id, seconds_for_child
from symfonic_ray.kernel.spans import current_tracer
from symfonic_ray.kernel.text import about

STOP_GRACE_SECONDS = 0.5  # cancelled code gets so long to leave; then its host is killed
ANSWER_GRACE_SECONDS = 0.25  # past the deadline, for the host's own word that time ran out
OVERDUE_GRACE_SECONDS = 0.1  # on top of what the host itself has given it since its deadline
CONTROL_MARGIN_SECONDS = 0.4
RUN_ID_CHARACTERS = 128
_STOPPED = "its tree of runs was stopped; it was not run"
NOT_RUN = ("shutting_down", "frozen")  # a host's reasons that another try may overcome
THAW_SECONDS = 0.02  # until a host is asked again that has not heard of a thaw
MOVES = 3  # hosts tried for one hand-off, when one after the other says that it closes and has run nothing


class HandOff(Parcel):
    """One hand-off by its caller: what travels, and what only the caller knows."""

    __slots__ = ("generation", "position", "scope_key", "seconds")

    def __init__(self, row: HandOffRow, size: int, seconds: float, scope_key: str) -> None:
        Parcel.__init__(self, row, size, time.monotonic() + seconds)
        self.seconds = seconds
        """How long it may take, from its start."""
        self.scope_key = scope_key
        self.generation = 0
        self.position: int | None = None
        """Its place in the admission queue at first; None when it did not wait."""

    def facts(self, *, fresh: bool = False) -> HandOffFacts:
        """What the border knows of it, for its record."""
        row = self.row
        return HandOffFacts(
            run_id=row.run_id,
            root_run_id=row.root_run_id,
            parent_run_id=row.parent_run_id,
            scope_key=self.scope_key,
            generation=self.generation,
            fresh=fresh,
            queue_position=self.position,
        )

    def fault(self, reason: str, words: str) -> HandOffFault:
        """A failure of it, or a refusal that came late."""
        outcome = DelegationOutcome.REFUSED_OVERLOAD if reason == "frozen" else DelegationOutcome.CHILD_FAILED
        return HandOffFault(reason, words, self.facts(), outcome)

    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self.expires_at - time.monotonic())


class RemoteChild:
    """A ``ChildRunner`` over one child of one scope. Slots only: a palette is never here, but in the child's host."""

    __slots__ = ("_keep", "_limits", "_payload_bytes", "directory", "name")

    def __init__(
        self,
        name: str,
        directory: Directory,
        *,
        limits: RunLimits,
        payload_bytes: int,
        keep: Callable[[dict[str, Any]], None],
    ) -> None:
        self.name = name
        self.directory = directory
        self._limits = limits
        self._payload_bytes = payload_bytes
        self._keep = keep

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> HandOffReply:
        """Hand ``query`` to the child and wait for its answer.

        Raises:
            HandOffFault: with a reason of the closed set.
            asyncio.CancelledError: if the caller was cancelled; the child has then been stopped or killed.
        """
        caller = HOSTED_RUN.current()
        if self.directory.gate is None and caller is None:  # inside a host, after its run has ended
            raise HandOffFault("shutting_down", "the run that this task belongs to is over; nothing was run")
        if caller is not None and agent_depth != caller.depth + 1:  # a run cannot count itself nearer to the root
            raise HandOffFault("depth", f"a child of this run is at depth {caller.depth + 1}, not {agent_depth}")
        if caller is not None:  # nor can it put its children into another tree
            root_run_id, parent_run_id = caller.root_run_id, caller.run_id
        hand_off = self.prepared(query, agent_depth, run_id, root_run_id, parent_run_id, caller)
        if parent_run_id is None:  # a root of its own: only what it hands on counts
            return await self._passed(hand_off, caller)
        await self._reserved(hand_off)
        try:
            return await self._passed(hand_off, caller)
        finally:
            if not hand_off.generation:  # it never had a host
                self.directory.leases.give_back(hand_off.row.root_run_id)

    async def _reserved(self, hand_off: HandOff) -> None:
        """Have the hand-off counted in its tree before it starts.

        Raises:
            HandOffFault: outcome ``REFUSED_BUDGET``, or why it cannot be counted.
        """
        try:
            async with asyncio.timeout(hand_off.left()):
                await self.directory.leases.take(hand_off.row.root_run_id)
        except TimeoutError:
            raise hand_off.fault("timeout", "time ran out before its tree's limit was asked; it was not run") from None
        except HandOffFault as refusal:
            raise HandOffFault(refusal.reason, refusal.message, hand_off.facts(), refusal.outcome) from None

    async def _passed(self, hand_off: HandOff, caller: HostedRun | None) -> HandOffReply:
        """Send it, once the parent's turn is given back and the pool has a slot."""
        if caller is not None:
            if not caller.gives_back:
                return await self.carried(hand_off)
            async with caller.turn.given_back():
                return await self.carried(hand_off)
        gate = self.directory.gate
        if gate is None:
            return await self.carried(hand_off)
        try:
            hand_off.position = await gate.enter(hand_off.scope_key, hand_off.seconds)
        except TimeoutError:
            words = f"agent {self.name!r}: no answer within {about(hand_off.seconds)} seconds; it was still queued"
            raise hand_off.fault("timeout", words) from None
        except HandOffFault as refusal:
            raise HandOffFault(refusal.reason, refusal.message, hand_off.facts(), refusal.outcome) from None
        try:
            return await self.carried(hand_off)
        finally:
            gate.leave(hand_off.scope_key)

    def prepared(
        self,
        query: str,
        depth: int,
        run_id: str | None,
        root_run_id: str | None,
        parent_run_id: str | None,
        caller: HostedRun | None,
    ) -> HandOff:
        """A hand-off, ready to be sent.

        Raises:
            HandOffFault: ``payload_too_large``, or ``serialization`` for a run id that cannot travel.
        """
        run_id = run_id or new_run_id()
        root = root_run_id or parent_run_id or run_id
        ancestors = _ancestors(caller, root, parent_run_id)
        tracer = current_tracer()
        above = None if tracer is None else tracer.traceparent()
        row = HandOffRow(new_call_id(), query, depth, run_id, root, parent_run_id, ancestors, None, above)
        hand_off = HandOff(row, wire_bytes(query), self.seconds(caller), self.directory.scope_key)
        if not (can_travel(run_id) and can_travel(root) and can_travel(parent_run_id or root)):
            words = f"a run id cannot travel; give 1 to {RUN_ID_CHARACTERS} visible characters"
            raise HandOffFault("serialization", words)
        self.check(hand_off)
        return hand_off

    def check(self, hand_off: HandOff) -> None:
        """Refuse a task that is too long to send.

        Raises:
            HandOffFault: ``payload_too_large``.
        """
        if hand_off.size > self._payload_bytes:
            words = f"the task has {hand_off.size} bytes and {self._payload_bytes} are allowed"
            raise hand_off.fault("payload_too_large", f"{words}; hand over a part or a reference")

    def seconds(self, caller: HostedRun | None) -> float:
        """How long a hand-off from here may take."""
        limit = current_deadline()
        if caller is None:
            return self.seconds_under(limit)
        longest = self._limits.max_seconds
        remaining = longest if limit is None else limit.remaining(now=time.monotonic())
        fraction, least = self._limits.reserve_fraction, self._limits.reserve_seconds
        return min(longest, seconds_for_child(remaining, reserve_fraction=fraction, reserve_seconds=least))

    def seconds_under(self, limit: Deadline | None) -> float:
        """How long a hand-off may take that nobody but ``limit`` bounds."""
        longest = self._limits.max_seconds
        return longest if limit is None else min(longest, limit.remaining(now=time.monotonic()))

    async def carried(self, hand_off: HandOff) -> HandOffReply:
        """Send a hand-off and wait for its answer; see ``run``."""
        timer = self.directory.timer
        moves = 0
        while True:
            link = self.directory.known(self.name) or await self.found(hand_off)
            if hand_off.row.root_run_id in self.directory.stopped_trees or _stopped_everywhere(hand_off):
                raise hand_off.fault("cancelled", _STOPPED)
            if self.directory.frozen:
                raise hand_off.fault("frozen", frozen_fault().message)
            hand_off.generation = link.generation
            landed: asyncio.Future[ReplyRow] = asyncio.get_running_loop().create_future()
            hand_off.hear(partial(_land, landed))
            link.courier.send(hand_off)
            overdue = timer.add(hand_off.expires_at + ANSWER_GRACE_SECONDS, hand_off.expire)
            try:
                reply = await landed
            except asyncio.CancelledError:
                hand_off.drop()
                if not _stopped_everywhere(hand_off):
                    await surely(self.stop(link, hand_off))
                raise
            except Exception as error:
                raise await surely(self.lost(link, error, hand_off)) from None
            finally:
                timer.drop(overdue)
            if reply.reason not in NOT_RUN or moves == MOVES or not await self.again(link, reply, hand_off):
                return self.answer(reply, hand_off)
            moves += reply.reason == "shutting_down"

    async def found(self, hand_off: HandOff) -> HostLink:
        """The child's host, asked of the controller.

        Raises:
            HandOffFault: if there is none, or none in time.
        """
        try:
            async with asyncio.timeout(hand_off.left()):
                return await self.directory.link(self.name)
        except TimeoutError:
            raise hand_off.fault("timeout", "time ran out before the child was ready; it was not run") from None
        except HandOffFault as fault:
            raise hand_off.fault(fault.reason, fault.message) from None

    async def again(self, link: HostLink, reply: ReplyRow, hand_off: HandOff) -> bool:
        """Whether a host that has run nothing may be asked again, or another one: it closes, or was not thawed yet."""
        if reply.reason == "frozen" and self.directory.thawed and hand_off.left():
            await asyncio.sleep(THAW_SECONDS)
            return True
        if reply.reason == "shutting_down" and not self.directory.closed:
            self.directory.forget(link)
            return True
        return False

    def answer(self, reply: ReplyRow, hand_off: HandOff) -> HandOffReply:
        """What a reply row says.

        Raises:
            HandOffFault: for any failure but a blank answer.
        """
        for record in reply.records:
            self._keep(record)
        if reply.usage is not None and hand_off.row.parent_run_id is not None:
            self.directory.leases.settle(hand_off.row.root_run_id, reply.usage)
        if reply.reason == "timeout":
            raise self._timed_out(hand_off, "it was stopped")
        if reply.reason == "shutting_down" and self.directory.closed:
            raise hand_off.fault("cancelled", "the scope was closed while the task was on its way; it was not run")
        if reply.reason == "frozen":
            raise hand_off.fault("frozen", reply.failure)
        facts = hand_off.facts(fresh=reply.fresh)
        if reply.reason and reply.reason != "no_final_response":
            raise HandOffFault(reply.reason, f"agent {self.name!r}: {reply.failure}", facts)
        return HandOffReply(
            final_response=reply.final_response,
            facts=facts,
            usage=reply.usage,
            delegated_to=reply.delegated_to,
            error=reply.failure,
        )

    def _timed_out(self, hand_off: HandOff, how: str) -> HandOffFault:
        return hand_off.fault(
            "timeout", f"agent {self.name!r}: no answer within {about(hand_off.seconds)} seconds; {how}"
        )

    async def lost(self, link: HostLink, error: Exception, hand_off: HandOff) -> HandOffFault:
        """The fault that stands for an answer that will not come, once its work was stopped or its host replaced."""
        if isinstance(error, OverdueError):
            return self._timed_out(hand_off, await self.stop(link, hand_off, OVERDUE_GRACE_SECONDS))
        if self.directory.closed:
            return hand_off.fault("cancelled", "the scope was closed while the child worked")
        cause = getattr(error, "cause", None) or error  # Ray's own words on it are a remote traceback
        if isinstance(cause, EnvelopeError):
            return hand_off.fault(cause.reason, str(cause))
        fault = classify(error)
        if fault.lost and hand_off.row.root_run_id in self.directory.stopped_trees:
            self.directory.lose(link)
            return hand_off.fault("cancelled", f"agent {self.name!r}: its tree of runs was stopped")
        if fault.lost and self.directory.frozen:
            self.directory.lose(link)
            return hand_off.fault("cancelled", f"agent {self.name!r}: its scope was frozen")
        if fault.lost:
            try:
                await self.directory.retire(link, fault.reason, hand_off.row.run_id)
            except HandOffFault as lost:
                if lost.reason == "controller_lost":
                    return hand_off.fault(lost.reason, lost.message)
        return hand_off.fault(fault.reason, fault.words)

    async def stop(self, link: HostLink, hand_off: HandOff, grace_seconds: float = STOP_GRACE_SECONDS) -> str:
        """Stop one call where it runs, or kill its host; what became of it, in words."""
        if link.courier.withdraw(hand_off):
            return "it had not left yet"
        try:
            async with asyncio.timeout(grace_seconds + CONTROL_MARGIN_SECONDS):
                running = await link.courier.stop(hand_off.row.call_id, grace_seconds)
        except TimeoutError:
            running = True
        except CallLostError:
            running = False
        if not running:
            return "it was stopped"
        with suppress(HandOffFault):
            await self.directory.retire(link, "did not stop", hand_off.row.run_id)
        return "it did not stop and its process was killed; the next task gets a new one"

    async def flush_background_tasks(self) -> None:
        """Let the child finish its background work, if its host is up."""
        await self.directory.flush(self.name)

    async def aclose(self) -> None:
        """Close the child, if its host is up."""
        await self.directory.close(self.name)


def _stopped_everywhere(hand_off: HandOff) -> bool:
    """Whether a stop of the whole tree reaches the hand-off anyway, so that its caller may leave at once."""
    caller = HOSTED_RUN.current()
    return caller is not None and hand_off.row.root_run_id in caller.stopped_trees


def _ancestors(caller: HostedRun | None, root_run_id: str, parent_run_id: str | None) -> tuple[str, ...]:
    """Run ids above a hand-off, root first: what the host knows, or what a caller outside any host says."""
    if parent_run_id is None:
        return ()
    if caller is not None and caller.run_id == parent_run_id:
        return caller.lineage
    return (root_run_id, parent_run_id) if root_run_id != parent_run_id else (root_run_id,)


def _land(landed: asyncio.Future[ReplyRow], outcome: ReplyRow | Exception) -> None:
    if landed.done():
        return
    if isinstance(outcome, Exception):
        landed.set_exception(outcome)
    else:
        landed.set_result(outcome)


def can_travel(run_id: str) -> bool:
    """Whether a run id, which a caller may have made, fits the envelope."""
    return 0 < len(run_id) <= RUN_ID_CHARACTERS and run_id.isprintable()


async def surely(work: Any) -> Any:
    """Finish ``work`` even if the waiting task is cancelled again meanwhile; ``work`` itself is bounded."""
    running = asyncio.ensure_future(work)
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(running)
    return running.result()
