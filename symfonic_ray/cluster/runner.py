"""A child that lives in another process, as a runner. Owns the waiting: deadline, cancellation, and what was lost.

Every wait here is bounded. A call that ran out of time or was cancelled is stopped where it runs before the caller
leaves; what does not stop within its grace is killed with its host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

from ray.exceptions import RayError

from symfonic_ray.admission import RunLimits
from symfonic_ray.cluster.courier import new_call_id
from symfonic_ray.cluster.directory import Directory, HostLink
from symfonic_ray.cluster.envelope import EnvelopeError, HandOffRow, ReplyRow
from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.hosted_run import HOSTED_RUN, HostedRun
from symfonic_ray.cluster.remote_call import answer_of
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
        facts = HandOffFacts(
            run_id=run_id, root_run_id=root, parent_run_id=parent_run_id, scope_key=self._directory.scope_key
        )
        size = wire_bytes(query)
        if size > self._payload_bytes:
            words = f"the task has {size} bytes and {self._payload_bytes} are allowed; hand over a part or a reference"
            raise HandOffFault("payload_too_large", words, facts)
        expires_at = self._expires_at(caller)
        row = HandOffRow(
            call_id=new_call_id(),
            task=query,
            agent_depth=agent_depth,
            run_id=run_id,
            root_run_id=root,
            parent_run_id=parent_run_id,
            ancestors=_ancestors(caller, root, parent_run_id),
            seconds_left=None,
        )
        waiting = caller.turn.given_back() if caller is not None and caller.gives_back else nullcontext()
        async with waiting:
            return await self._carried(row, facts, expires_at)

    def _expires_at(self, caller: HostedRun | None) -> float:
        """When this hand-off must have ended, on this process's monotonic clock."""
        now = time.monotonic()
        limit = current_deadline()
        remaining = self._limits.max_seconds if limit is None else limit.remaining(now=now)
        if caller is not None:
            remaining = seconds_for_child(
                remaining,
                reserve_fraction=self._limits.reserve_fraction,
                reserve_seconds=self._limits.reserve_seconds,
            )
        return now + min(remaining, self._limits.max_seconds)

    async def _carried(self, row: HandOffRow, facts: HandOffFacts, expires_at: float) -> HandOffReply:
        seconds = _left(expires_at)
        try:
            link = self._directory.known(self._name)
            if link is None:
                link = await asyncio.wait_for(self._directory.link(self._name), _left(expires_at))
        except TimeoutError:
            raise HandOffFault("timeout", "time ran out before the child was ready; it was not run", facts) from None
        except HandOffFault as fault:
            raise HandOffFault(fault.reason, fault.message, facts) from None
        facts = replace(facts, generation=link.generation)
        row.seconds_left = _left(expires_at)
        sending = asyncio.ensure_future(link.courier.carry(row))
        try:
            done, _ = await asyncio.wait((sending,), timeout=row.seconds_left + ANSWER_GRACE_SECONDS)
        except asyncio.CancelledError:
            await _surely(self._stop(link, row.call_id, sending))
            raise
        if not done:
            how = await _surely(self._stop(link, row.call_id, sending))
            raise HandOffFault("timeout", f"no answer within {seconds:.3g} seconds; {how}", facts)
        reply = await self._heard(link, sending, facts)
        if reply.reason == "timeout":
            reply.failure = f"no answer within {seconds:.3g} seconds; it was stopped"
        return self._reply(reply, facts)

    async def _heard(self, link: HostLink, sending: asyncio.Future[ReplyRow], facts: HandOffFacts) -> ReplyRow:
        """The reply row, or the fault that stands for its absence."""
        try:
            return sending.result()
        except EnvelopeError as error:
            raise HandOffFault(error.reason, str(error), facts) from None
        except Exception as error:
            if self._directory.closed:
                raise HandOffFault("cancelled", "the scope was closed while the child worked", facts) from None
            cause = getattr(error, "cause", None)
            if isinstance(cause, EnvelopeError):
                raise HandOffFault(cause.reason, str(cause), facts) from None
            fault = classify(error)
            if fault.lost:
                try:
                    await self._directory.retire(link, fault.reason)
                except HandOffFault as lost:
                    if lost.reason == "controller_lost":
                        raise HandOffFault(lost.reason, lost.message, facts) from None
            raise fault.raised(facts) from None

    def _reply(self, row: ReplyRow, facts: HandOffFacts) -> HandOffReply:
        for record in row.records:
            self._keep(record)
        if row.fresh:
            facts = replace(facts, fresh=True)
        if row.reason and row.reason != "no_final_response":
            raise HandOffFault(row.reason, f"agent {self._name!r}: {row.failure}", facts)
        return HandOffReply(
            final_response=row.final_response,
            facts=facts,
            usage=row.usage,
            delegated_to=row.delegated_to,
            error=row.failure,
        )

    async def _stop(self, link: HostLink, call_id: str, sending: asyncio.Future[ReplyRow]) -> str:
        """Stop one call where it runs, or kill its host; what became of it, in words."""
        try:
            asked = link.handle.cancel.remote(self._name, (call_id,), STOP_GRACE_SECONDS)
            running = await answer_of(asked, STOP_GRACE_SECONDS + CONTROL_MARGIN_SECONDS)
        except TimeoutError:
            running = (call_id,)
        except RayError:
            running = ()
        how = "it was stopped"
        if running:
            how = "it did not stop and its process was killed; the next task gets a new one"
            with suppress(HandOffFault):
                await self._directory.retire(link, "did not stop")
        sending.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await sending
        return how

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
