"""One share of a batch, from its sending to its end, as the driver sees it. Knows no retry and no other share."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ray.exceptions import WorkerCrashedError

from symfonic_ray.cluster.tool_call import PendingCall
from symfonic_ray.cluster.tool_loss import Loss, is_worker_lost, loss
from symfonic_ray.cluster.tool_result import unpacked_value
from symfonic_ray.cluster.tool_share import OUTCOME, RUN_SHARE, CallRow, Row, ShareTerms
from symfonic_ray.cluster.tool_stream import ShareStream
from symfonic_ray.execution import Emit, ToolOutcome, ToolProgress

UNREAD_GROUPS = 1  # Ray holds a worker at its yield until the group has been read: 1 ms each, 0.6 to 0.8 with 4

Packed = tuple[PendingCall, bytes]
"""A call and its pickled arguments."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a share left unanswered."""

    lost: tuple[tuple[PendingCall, Loss], ...] = ()
    """Calls whose process is gone, or did not answer them."""
    again: tuple[PendingCall, ...] = ()
    """Calls of a share that ended early through another one, free to be started elsewhere."""


class Sending:
    """Calls that go in one task; belongs to one event loop."""

    def __init__(
        self,
        packed: Sequence[Packed],
        terms: ShareTerms,
        *,
        emit: Emit,
        answer: Callable[[PendingCall, ToolOutcome], None],
        free: Callable[[int], None],
    ) -> None:
        """Hold the share.

        Args:
            packed: shape (calls,), in call order; one tool's options are every tool's.
            terms: what the worker keeps to.
            emit: told progress; the next of the stream is read when it has been taken.
            answer: told each outcome as it comes.
            free: told how many calls less than before may run at once here, when fewer are left.
        """
        self._packed = packed
        self._terms = terms
        self._emit = emit
        self._answer = answer
        self._free = free
        self._held = terms.width
        self._started = terms.width  # at most, of the first in order
        self._clocked = 0
        self._unanswered = {call.place: call for call, _ in packed}
        self._stream: ShareStream | None = None

    async def run(self) -> Ending:
        """Send the calls and take what comes of them.

        Raises:
            asyncio.CancelledError: when the waiting task is cancelled; the share has been stopped then.
        """
        limits = self._limits(asyncio.get_running_loop().time())
        try:
            self._stream = ShareStream(
                self._sent(),
                take=self._take,
                limits=limits,
                cooperative=any(call.route.cooperative for call in self._unanswered.values()),
            )
        except Exception as error:  # Ray is gone
            return self.ending(error)
        return self.ending(await self._stream.ended())

    def _limits(self, now: float) -> dict[int, float]:
        """Seconds by place; what is left of them for a call that was started before."""
        limits = {}
        for call in self._unanswered.values():
            seconds = call.route.descriptor.timeout_seconds
            if seconds is not None:
                limits[call.place] = seconds if call.ends_at is None else max(0.0, call.ends_at - now)
        return limits

    def _sent(self) -> Any:
        """Ray's generator of what the worker says. Any: Ray has no types."""
        parcels = {call.route.key: call.route.parcel for call, _ in self._packed}
        small = {key: parcel for key, parcel in parcels.items() if isinstance(parcel, bytes)}
        stored = {key: parcel for key, parcel in parcels.items() if key not in small}
        rows = [
            CallRow(
                place=call.place,
                slot=call.asked.slot,
                call_id=call.asked.call.id,
                name=call.name,
                tool=call.route.key,
                args=args,
                attempts=call.attempts,
            )
            for call, args in self._packed
        ]
        task = RUN_SHARE.options(
            num_returns="streaming",
            max_retries=0,
            _generator_backpressure_num_objects=UNREAD_GROUPS,
            **self._packed[0][0].route.options,
        )
        data = pickle.dumps((small, rows, self._terms))  # bytes cost Ray nothing; anything else a cloudpickle of 0.2 ms
        return task.remote(data, stored) if stored else task.remote(data)

    async def _take(self, rows: list[Row]) -> None:
        assert self._stream is not None
        if not rows:  # it has begun
            self._start_clocks()
        for kind, place, *rest in rows:
            if kind == OUTCOME:
                self._land(self._stream, place, *rest)
            else:
                await self._tell(self._unanswered[place], *rest)

    def _start_clocks(self) -> None:
        """Count the time of the calls that run now, where they have a limit."""
        assert self._stream is not None
        now = asyncio.get_running_loop().time()
        for call, _ in self._packed[self._clocked : self._started]:
            if (seconds := self._stream.start_clock(call.place)) is not None and call.ends_at is None:
                call.ends_at = now + seconds
        self._clocked = self._started

    def _land(
        self, stream: ShareStream, place: int, content: str, is_error: bool, attempts: int, reason: str, value: bytes
    ) -> None:
        call = self._unanswered.pop(place)
        stream.stop_clock(place)
        self._started += 1
        self._start_clocks()
        outcome = ToolOutcome(call.asked.call, content, is_error, attempts, reason=reason, value=unpacked_value(value))
        self._answer(call, outcome)
        if len(self._unanswered) < self._held:
            self._held -= 1
            self._free(1)

    async def _tell(self, call: PendingCall, sequence: int, payload: bytes) -> None:
        one = call.asked
        with suppress(Exception):
            await self._emit(ToolProgress(one.call.id, call.name, sequence, unpacked_value(payload), one.slot))

    def ending(self, fault: Exception | None = None) -> Ending:
        """What is unanswered now; its room is given back.

        Args:
            fault: what Ray said of the share's end; None where it said nothing.
        """
        overdue = set() if self._stream is None else self._stream.overdue
        if overdue:  # we ended the process ourselves
            fault = WorkerCrashedError()
        sure = self._terms.acknowledged and is_worker_lost(fault)
        unstarted = {call.place for call, _ in self._packed[self._started :]} if sure else set()
        repeatable = not self._terms.acknowledged and len(self._packed) > 1
        lost, again = [], []
        for call in self._unanswered.values():
            overran = call.route.descriptor.timeout_seconds if call.place in overdue else None
            why = loss(fault, call.name, overran=overran)
            if call.place in unstarted or (repeatable and overran is None and why.died):
                again.append(call)
            else:
                lost.append((call, why))
        self._free(self._held)
        self._held = 0
        return Ending(tuple(lost), tuple(again))
