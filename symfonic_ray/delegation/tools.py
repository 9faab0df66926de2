"""The two tools that a parent's model gets, and what one hand-off comes to. Knows no transport and no lifecycle.

The order inside ``delegate`` is load-bearing: depth, then the name, then the run.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from contextlib import suppress

from symfonic_ray.delegation.context import DelegationContext
from symfonic_ray.delegation.depth import DepthPolicy
from symfonic_ray.delegation.errors import ChildLockdownError, HandOffFault
from symfonic_ray.delegation.fleet import HandOffEnded, HandOffEvent, HandOffStarted
from symfonic_ray.delegation.names import LIST_AGENTS, RUN_AGENT
from symfonic_ray.delegation.records import fault_record, one_line, plain_record, response_record
from symfonic_ray.delegation.roster import DelegationRoster
from symfonic_ray.delegation.tracing import hand_off_span, tell_record
from symfonic_ray.delegation.values import (
    DelegationOutcome,
    DelegationRecord,
    DelegationToolSpec,
    shown,
)
from symfonic_ray.kernel import current_run_identity, new_run_id
from symfonic_ray.kernel.spans import current_tracer
from symfonic_ray.kernel.text import collapsed, failure_line

LABEL_CHARACTERS = 120
_KEYS = itertools.count(1)


class DelegationTools:
    """Hand-offs for one parent.

    Args:
        roster: the children.
        depth: the ceiling.
        context: tells the run in flight; one of its own by default.
        record: whether delivered hand-offs are tallied on the run in flight.
        observer: told of every hand-off as it starts and ends; one that raises changes nothing.
        ended: told of every record first, for counting; must not raise.
    """

    def __init__(
        self,
        *,
        roster: DelegationRoster,
        depth: DepthPolicy,
        context: DelegationContext | None = None,
        record: bool = True,
        observer: Callable[[HandOffEvent], None] | None = None,
        ended: Callable[[DelegationRecord], None] | None = None,
    ) -> None:
        self._roster = roster
        self._depth = depth
        self._context = DelegationContext() if context is None else context
        self._record = record
        self.observer = observer
        self._ended = ended

    def specs(self) -> tuple[DelegationToolSpec, ...]:
        """The tools, described for a model."""
        return (
            DelegationToolSpec(
                name=RUN_AGENT,
                description=(
                    "Hand one task to one of the agents below and get its answer. The agent does not see this "
                    "conversation: put everything it needs into the task. Give the name exactly as listed.\n"
                    f"{self._roster.describe()}"
                ),
                coroutine=self.run_agent,
                parameters=("name", "task"),
            ),
            DelegationToolSpec(
                name=LIST_AGENTS,
                description="List the agents that can be handed a task, with what each is for.",
                coroutine=self.list_agents,
            ),
        )

    async def run_agent(self, name: str, task: str) -> str:
        """Hand ``task`` to the agent called ``name``; its answer, or why there is none."""
        return (await self.delegate(name, task)).message

    async def list_agents(self) -> str:
        """The agents that can be handed a task, one line each."""
        return self._roster.describe()

    async def delegate(self, name: object, task: object) -> DelegationRecord:
        """One hand-off; always a record, unless the caller itself is cancelled.

        Raises:
            asyncio.CancelledError: if the caller was cancelled; then there is no record.
        """
        started = time.perf_counter()
        depth = self._depth.child_depth(self._context.current_depth())
        key = 0
        run_id: str | None = None  # whoever watches is told it before the run starts
        if self.observer is not None:
            key = next(_KEYS)
            run_id = new_run_id()
            shown_name = name if isinstance(name, str) else shown(name)
            root = self.lineage()[0] or run_id
            self._tell(HandOffStarted(key, shown_name, depth, _label(task), run_id, root))
        tracer = current_tracer()
        if tracer is None:
            record = await self._hand_off(name, task, depth, started, run_id)
        else:
            with hand_off_span(tracer, name if self._roster.find(name) is not None else None, depth) as span:
                record = await self._hand_off(name, task, depth, started, run_id)
                tell_record(span, record)
        if self._ended is not None:
            self._ended(record)
        if self.observer is not None:
            self._tell(HandOffEnded(key, record))
        return record

    async def _hand_off(
        self, name: object, task: object, depth: int, started: float, run_id: str | None
    ) -> DelegationRecord:
        if not self._depth.admits(self._context.current_depth()):
            return plain_record(name, depth, started, DelegationOutcome.REFUSED_DEPTH, "depth", self._depth.refusal())
        if self._roster.find(name) is None:
            words = f"No agent is named {shown(name)}. The agents are:\n{self._roster.describe()}"
            return plain_record(name, depth, started, DelegationOutcome.UNKNOWN_CHILD, "unknown_child", words)
        root_run_id, parent_run_id = self.lineage()
        scope = self._context.current_scope()
        cancels_before = _cancels()
        try:
            response = await self._roster.run(
                name,
                task,
                scope=scope,
                run_id=run_id,
                depth=depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )
            record = response_record(name, depth, started, response)
        except asyncio.CancelledError:
            if _cancels():
                raise
            words = f"agent {name!r} was cancelled by its own doing"
            record = plain_record(name, depth, started, DelegationOutcome.CHILD_FAILED, "cancelled", words)
        except HandOffFault as fault:
            record = fault_record(name, depth, started, fault)
        except Exception as error:
            reason = "lockdown" if isinstance(error, ChildLockdownError) else "exception"
            words = one_line(f"agent {name!r} failed: {failure_line(error)}")
            record = plain_record(name, depth, started, DelegationOutcome.CHILD_FAILED, reason, words)
        if _cancels() > cancels_before:  # the child swallowed or renamed a cancellation that was the caller's
            raise asyncio.CancelledError
        if record.outcome.delivered and self._record:
            self._context.record_delegation(record.name)
        return record

    def lineage(self) -> tuple[str | None, str | None]:
        """Root and parent of a child's run, from the run in flight or else from the current identity."""
        run = self._context.current_run()
        if run is not None and run.run_id:
            return run.root_run_id, run.run_id
        identity = current_run_identity()
        return (None, None) if identity is None else (identity.root_run_id or identity.run_id, identity.run_id)

    def _tell(self, event: HandOffEvent) -> None:
        with suppress(Exception):
            if self.observer is not None:
                self.observer(event)


def _label(task: object) -> str:
    """The beginning of a task, for whoever watches; a task that is no text is shown by its repr."""
    return collapsed(task[: 2 * LABEL_CHARACTERS] if isinstance(task, str) else shown(task))[:LABEL_CHARACTERS]


def _cancels() -> int:
    """How many cancellations of the current task have been asked for and not taken back."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
