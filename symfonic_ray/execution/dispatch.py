"""Where admitted calls run: the port, and the dispatcher that runs them in this process. Admits nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from symfonic_ray.execution.life import failed_outcome, run_call
from symfonic_ray.execution.progress import Emit
from symfonic_ray.execution.retry import RetrySchedule
from symfonic_ray.execution.values import AdmittedCall, ToolOutcome

IN_FLIGHT = 64  # calls of one batch at once; each sync body holds a thread, and each call a connection of its tool's


class Dispatcher(Protocol):
    """Runs the admitted calls of one batch."""

    async def dispatch(
        self, admitted: Sequence[AdmittedCall], *, retries: RetrySchedule, emit: Emit
    ) -> Sequence[ToolOutcome]:
        """Run every call and answer each, in the order given.

        Args:
            admitted: shape (calls,), told apart by slot; arguments are read and every guard has agreed.
            retries: what alone repeats a call; ``run_call`` applies it where the tool runs.
            emit: takes progress, and records for the trace; nothing of a call may come after its outcome.
        Returns:
            One outcome a call, in the order of ``admitted``; the executor pairs them by that order alone.
        Raises:
            asyncio.CancelledError: when the run is cancelled; nothing new starts then, and what runs is stopped.
        """
        ...


class InProcessDispatcher:
    """Runs calls on the event loop of the caller, sync bodies in threads beside it."""

    def __init__(self, *, in_flight: int = IN_FLIGHT) -> None:
        """Bound each batch.

        Args:
            in_flight: how many calls of one batch run at once, at least 1. Batches do not count against one another:
                a tool may run a batch of its own, and must not wait for the slot it holds.
        Raises:
            ValueError: below 1.
        """
        if in_flight < 1:
            raise ValueError(f"in_flight is {in_flight}; at least one call must be able to run")
        self._in_flight = in_flight

    async def dispatch(
        self, admitted: Sequence[AdmittedCall], *, retries: RetrySchedule, emit: Emit
    ) -> Sequence[ToolOutcome]:
        """Run every call and answer each, in the order given; see ``Dispatcher``."""
        outcomes: list[ToolOutcome | None] = [None] * len(admitted)
        waiting = iter(enumerate(admitted))

        async def take_turns() -> None:
            for place, one in waiting:
                outcomes[place] = await run_call(one, retries=retries, emit=emit)

        async with asyncio.TaskGroup() as lanes:
            for _ in range(min(self._in_flight, len(admitted))):
                lanes.create_task(take_turns())
        return [outcome or _unanswered(one) for outcome, one in zip(outcomes, admitted, strict=True)]


def _unanswered(one: AdmittedCall) -> ToolOutcome:
    """For a lane that somebody else's code cancelled from inside this process."""
    return failed_outcome(one, "dispatch_failed", "the call was stopped from outside; effect unknown", attempts=0)
