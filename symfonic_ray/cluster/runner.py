"""A child that lives in another process, as a runner. Owns the waiting: deadline, cancellation, and what was lost.

Every wait here is bounded. A call that ran out of time or was cancelled is stopped where it runs before the caller
leaves; what does not stop within its grace is killed with its host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ray.exceptions import RayError

from symfonic_ray.admission import RunLimits
from symfonic_ray.cluster.courier import OverdueError, Parcel, new_call_id
from symfonic_ray.cluster.directory import Directory, HostLink
from symfonic_ray.cluster.envelope import EnvelopeError, HandOffRow
from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.hosted_run import HOSTED_RUN, HostedRun
from symfonic_ray.cluster.wire_text import wire_bytes
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import HandOffFacts, HandOffReply
from symfonic_ray.kernel import current_deadline, new_run_id, seconds_for_child

STOP_GRACE_SECONDS = 0.5  # cancelled code gets so long to leave; then its host is killed
ANSWER_GRACE_SECONDS = 0.25  # past the deadline, for the host's own word that time ran out
CONTROL_MARGIN_SECONDS = 0.5


class RemoteChild:
    """A ``ChildRunner`` over one child of one scope. Slots only: the lockdown looks into ``vars`` before each run."""

    __slots__ = ("_directory", "_keep", "_limits", "_name", "_payload_bytes")

    def __init__(
        self,
        name: str,
        directory: Directory,
        *,
        limits: RunLimits,
        payload_bytes: int,
        keep: Callable[[dict[str, Any]], None],
    ) -> None:
        self._name = name
        self._directory = directory
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
        run_id = run_id or new_run_id()
        caller = HOSTED_RUN.current()
        root = root_run_id or parent_run_id or run_id
        row = HandOffRow(
            new_call_id(),
            query,
            agent_depth,
            run_id,
            root,
            parent_run_id,
            _ancestors(caller, root, parent_run_id),
            None,
        )
        size = wire_bytes(query)
        if size > self._payload_bytes:
            words = f"the task has {size} bytes and {self._payload_bytes} are allowed; hand over a part or a reference"
            raise HandOffFault("payload_too_large", words, self._facts(row))
        seconds = self._seconds(caller)
        expires_at = time.monotonic() + seconds
        if caller is None or not caller.gives_back:
            return await self._carried(row, expires_at, seconds)
        async with caller.turn.given_back():
            return await self._carried(row, expires_at, seconds)

    def _facts(self, row: HandOffRow, generation: int = 0, fresh: bool = False) -> HandOffFacts:
        return HandOffFacts(
            run_id=row.run_id,
            root_run_id=row.root_run_id,
            parent_run_id=row.parent_run_id,
            scope_key=self._directory.scope_key,
            generation=generation,
            fresh=fresh,
        )

    def _seconds(self, caller: HostedRun | None) -> float:
        """How long this hand-off may take."""
        limit = current_deadline()
        remaining = self._limits.max_seconds if limit is None else limit.remaining(now=time.monotonic())
        if caller is not None:
            remaining = seconds_for_child(
                remaining,
                reserve_fraction=self._limits.reserve_fraction,
                reserve_seconds=self._limits.reserve_seconds,
            )
        return min(remaining, self._limits.max_seconds)

    async def _carried(self, row: HandOffRow, expires_at: float, seconds: float) -> HandOffReply:
        link = self._directory.known(self._name) or await self._found(row, expires_at)
        parcel = link.courier.send(row, expires_at)
        overdue = self._directory.timer.add(expires_at + ANSWER_GRACE_SECONDS, parcel.expire)
        try:
            reply = await parcel.reply
        except asyncio.CancelledError:
            await _surely(self._stop(link, parcel))
            raise
        except OverdueError:
            how = await _surely(self._stop(link, parcel))
            raise self._timed_out(row, link, seconds, how) from None
        except Exception as error:
            raise await self._lost(link, error, self._facts(row, link.generation)) from None
        finally:
            self._directory.timer.drop(overdue)
        for record in reply.records:
            self._keep(record)
        if reply.reason == "timeout":
            raise self._timed_out(row, link, seconds, "it was stopped")
        facts = self._facts(row, link.generation, reply.fresh)
        if reply.reason and reply.reason != "no_final_response":
            raise HandOffFault(reply.reason, f"agent {self._name!r}: {reply.failure}", facts)
        return HandOffReply(
            final_response=reply.final_response,
            facts=facts,
            usage=reply.usage,
            delegated_to=reply.delegated_to,
            error=reply.failure,
        )

    async def _found(self, row: HandOffRow, expires_at: float) -> HostLink:
        """The child's host, asked of the controller."""
        try:
            return await asyncio.wait_for(self._directory.link(self._name), _left(expires_at))
        except TimeoutError:
            words = "time ran out before the child was ready; it was not run"
            raise HandOffFault("timeout", words, self._facts(row)) from None
        except HandOffFault as fault:
            raise HandOffFault(fault.reason, fault.message, self._facts(row)) from None

    def _timed_out(self, row: HandOffRow, link: HostLink, seconds: float, how: str) -> HandOffFault:
        words = f"agent {self._name!r}: no answer within {seconds:.3g} seconds; {how}"
        return HandOffFault("timeout", words, self._facts(row, link.generation))

    async def _lost(self, link: HostLink, error: Exception, facts: HandOffFacts) -> HandOffFault:
        """The fault that stands for an answer that will not come."""
        if self._directory.closed:
            return HandOffFault("cancelled", "the scope was closed while the child worked", facts)
        if isinstance(error, EnvelopeError):
            return HandOffFault(error.reason, str(error), facts)
        cause = getattr(error, "cause", None)
        if isinstance(cause, EnvelopeError):
            return HandOffFault(cause.reason, str(cause), facts)
        fault = classify(error)
        if fault.lost:
            try:
                await self._directory.retire(link, fault.reason, facts.run_id)
            except HandOffFault as lost:
                if lost.reason == "controller_lost":
                    return HandOffFault(lost.reason, lost.message, facts)
        return fault.raised(facts)

    async def _stop(self, link: HostLink, parcel: Parcel) -> str:
        """Stop one call where it runs, or kill its host; what became of it, in words."""
        if link.courier.withdraw(parcel):
            return "it had not left yet"
        try:
            asked = link.courier.stop(parcel.row.call_id, STOP_GRACE_SECONDS)
            running = await asyncio.wait_for(asked, STOP_GRACE_SECONDS + CONTROL_MARGIN_SECONDS)
        except TimeoutError:
            running = True
        except RayError:
            running = False
        if not running:
            return "it was stopped"
        with suppress(HandOffFault):
            await self._directory.retire(link, "did not stop", parcel.row.run_id)
        return "it did not stop and its process was killed; the next task gets a new one"

    async def flush_background_tasks(self) -> None:
        """Let the child finish its background work, if its host is up."""
        await self._directory.flush(self._name)

    async def aclose(self) -> None:
        """Close the child, if its host is up."""
        await self._directory.close(self._name)


def _ancestors(caller: HostedRun | None, root_run_id: str, parent_run_id: str | None) -> tuple[str, ...]:
    """Run ids above a hand-off, root first: what the host knows, or what a caller outside any host says."""
    if parent_run_id is None:
        return ()
    if caller is not None and caller.run_id == parent_run_id:
        return caller.lineage
    return (root_run_id, parent_run_id) if root_run_id != parent_run_id else (root_run_id,)


def _left(expires_at: float) -> float:
    return max(0.0, expires_at - time.monotonic())


async def _surely(work: Any) -> Any:
    """Finish ``work`` even if the waiting task is cancelled again meanwhile; ``work`` itself is bounded."""
    running = asyncio.ensure_future(work)
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(running)
    return running.result()
