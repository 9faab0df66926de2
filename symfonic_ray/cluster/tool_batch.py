"""One batch of tool calls on Ray: what goes when, and what each call came to. Knows no setting and starts no Ray.

No more than ``in_flight`` calls run at once. When a worker dies, calls that it had started are answered as lost, or
tried again where the retry schedule says so; the others go elsewhere. Chunks do not tell what they have started, and
are of idempotent calls alone: what is unanswered of a dead one is sent once more, each call by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ray.cloudpickle import dumps

from symfonic_ray.cluster.tool_arguments import packed_arguments, plain_words, references_in, resolved
from symfonic_ray.cluster.tool_call import PendingCall
from symfonic_ray.cluster.tool_cut import Cut, chunked, shares
from symfonic_ray.cluster.tool_loss import Loss
from symfonic_ray.cluster.tool_machines import Machines
from symfonic_ray.cluster.tool_result import cut_text
from symfonic_ray.cluster.tool_route import Route
from symfonic_ray.cluster.tool_sending import Packed, Sending
from symfonic_ray.cluster.tool_share import ShareTerms
from symfonic_ray.execution import (
    AdmittedCall,
    Emit,
    PhaseRecord,
    RetrySchedule,
    ToolOutcome,
    WorkerDiedError,
    failed_outcome,
    run_call,
)
from symfonic_ray.kernel.text import failure_line

SHARE_BYTES = 8 << 20  # of arguments in one task: what waits stays unpickled


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerms:
    """What holds for every batch of one dispatcher."""

    in_flight: int
    text_bytes: int
    value_bytes: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """Calls that go in one task, or one that runs here."""

    calls: tuple[PendingCall, ...]
    width: int = 1
    """How many of them run at once, and so the room that they take."""
    acknowledged: bool = True
    """See ``ShareTerms``."""


class ToolBatch:
    """The calls of one dispatch, and what is known of each."""

    def __init__(
        self,
        admitted: Sequence[AdmittedCall],
        routes: Sequence[Route],
        machines: Machines,
        *,
        terms: BatchTerms,
        retries: RetrySchedule,
        emit: Emit,
    ) -> None:
        self._calls = [
            PendingCall(place, one, route, one.call.args)
            for place, (one, route) in enumerate(zip(admitted, routes, strict=True))
        ]
        self._machines = machines
        self._slots = max(1, int(machines.cores))
        self._terms = terms
        self._retries = retries
        self._schedule: bytes = dumps(retries)  # type: ignore[no-untyped-call]  # Ray's own
        self._emit = emit
        self._room = terms.in_flight
        self._waiting: deque[_Unit] = deque()
        self._outcomes: dict[int, ToolOutcome] = {}
        self._answered = asyncio.Event()
        self._closed = False
        self._group = asyncio.TaskGroup()

    async def run(self) -> list[ToolOutcome]:
        """Answer every call, in the order given."""
        if not self._calls:
            return []
        async with self._group:
            try:
                self._queue_up()
                await self._answered.wait()
            except BaseException:
                self._closed = True
                raise
        return [self._outcomes[call.place] for call in self._calls]

    def _queue_up(self) -> None:
        ready: list[PendingCall] = []
        for call in self._calls:
            if self._is_infeasible(call):
                continue
            if references_in(call.args):
                self._spawn(self._resolve(call))
            else:
                ready.append(call)
        self._waiting.extend(self._units(ready))
        self._pump()

    def _units(self, ready: list[PendingCall]) -> list[_Unit]:
        """The first cut; what comes later goes call by call."""
        shared = [call for call in ready if call.route.lane == "shared"]
        others = [call for call in ready if call.route.lane != "shared"]
        chunks = chunked([self._cut(call.route) for call in others])
        room = self._terms.in_flight
        if others:  # neither kind waits for the other: the room is shared out
            room = max(1, room * len(shared) // (len(shared) + len(chunks)))
        units = [
            _Unit(tuple(shared[share.start : share.end]), share.width)
            for share in shares(len(shared), slots=self._slots, in_flight=room)
        ]
        units += [_Unit(tuple(others[place] for place in chunk), acknowledged=len(chunk) == 1) for chunk in chunks]
        return units

    def _is_infeasible(self, call: PendingCall) -> bool:
        lacking = "" if call.route.lane == "here" else self._machines.lacking(call.route.needs)
        if lacking:
            self._answer(
                call, failed_outcome(call.asked, "infeasible", f"{call.name} was not run: {lacking}", attempts=0)
            )
        return bool(lacking)

    def _cut(self, route: Route) -> Cut | None:
        # A chunk a core, though a task may hold less: Ray keeps one idle worker a core, and starts all others anew.
        return Cut(route.key, min(self._slots, self._terms.in_flight)) if route.chunkable else None

    async def _resolve(self, call: PendingCall) -> None:
        try:
            async with asyncio.timeout(call.route.descriptor.timeout_seconds) as limit:
                call.args = await resolved(call.args)
        except Exception as error:
            late = limit.expired()
            why = "it did not come in time" if late else plain_words(error)
            words = f"{call.name} was not run: an object that its arguments refer to could not be had ({why})"
            self._answer(call, failed_outcome(call.asked, "timeout" if late else "bad_arguments", words, attempts=0))
            return
        self._waiting.appendleft(_Unit((call,)))
        self._pump()

    def _pump(self) -> None:
        """Let as many calls go as there is room for."""
        while self._waiting and self._room >= self._waiting[0].width and not self._closed:
            unit = self._waiting.popleft()
            if unit.calls[0].route.lane == "here":
                self._room -= 1
                self._spawn(self._run_here(unit.calls[0]))
            elif packed := self._packed(unit):
                self._room -= unit.width
                self._spawn(self._send(packed, unit))

    def _free(self, room: int) -> None:
        self._room += room
        self._pump()

    def _packed(self, unit: _Unit) -> list[Packed]:
        """The calls of a unit as they travel, without those whose arguments cannot, which are answered.

        Where the arguments are large, calls at the end are left for another unit.
        """
        packed: list[Packed] = []
        size = 0
        for place, call in enumerate(unit.calls):
            if size > SHARE_BYTES:
                self._waiting.appendleft(replace(unit, calls=unit.calls[place:]))
                break
            try:
                data = packed_arguments(call.args)
            except Exception as error:  # pickling runs foreign __reduce__ methods
                words = f"{call.name} was not run: its arguments cannot be sent to another process"
                outcome = failed_outcome(
                    call.asked, "serialization", f"{words} ({failure_line(error)})", attempts=call.attempts
                )
                self._answer(call, outcome)
            else:
                packed.append((call, data))
                size += len(data)
        return packed

    async def _run_here(self, call: PendingCall) -> None:
        one = call.asked
        if call.route.why:
            await self._note(call, "in_process", call.route.why)
        try:
            run = replace(one, call=replace(one.call, args=call.args))
            outcome = await run_call(run, retries=self._retries, emit=self._emit)
        except asyncio.CancelledError:
            if self._closed:
                raise
            words = "the call was stopped from outside; effect unknown"
            outcome = failed_outcome(one, "dispatch_failed", words, attempts=0)
        content = cut_text(outcome.content, limit_bytes=self._terms.text_bytes)
        self._answer(call, replace(outcome, call=one.call, content=content))
        self._free(1)

    async def _send(self, packed: Sequence[Packed], unit: _Unit) -> None:
        """Carry calls in one task."""
        terms = ShareTerms(
            retries=self._schedule,
            text_bytes=self._terms.text_bytes,
            value_bytes=self._terms.value_bytes,
            width=unit.width,
            acknowledged=unit.acknowledged,
            announced=any(call.route.descriptor.timeout_seconds is not None for call, _ in packed),
        )
        sending = Sending(packed, terms, emit=self._emit, answer=self._answer, free=self._free)
        try:
            ending = await sending.run()
        except asyncio.CancelledError:
            if self._closed:
                raise
            ending = sending.ending()
        for call in reversed(ending.again):
            await self._note(call, "resent", "its process ended through another call")
            self._waiting.appendleft(_Unit((call,)))
        for call, lost in ending.lost:
            self._lose(call, lost)
        self._pump()

    def _lose(self, call: PendingCall, lost: Loss) -> None:
        """Answer a call that its worker did not, or try it again."""
        call.attempts += 1
        delay = self._retries.delay_for(call.attempts)
        in_time = call.ends_at is None or asyncio.get_running_loop().time() + delay < call.ends_at
        error = WorkerDiedError(call.name)
        idempotent = call.route.descriptor.idempotent
        if lost.died and in_time and self._retries.should_retry(call.attempts, error, idempotent=idempotent):
            self._spawn(self._again(call, delay))
        else:
            self._answer(call, failed_outcome(call.asked, lost.reason, lost.words, attempts=call.attempts))

    async def _again(self, call: PendingCall, delay: float) -> None:
        await asyncio.sleep(delay)
        self._waiting.appendleft(_Unit((call,)))
        self._pump()

    async def _note(self, call: PendingCall, action: str, detail: str) -> None:
        one = call.asked
        await self._emit(PhaseRecord("dispatch", one.call.id, action, detail, one.slot))

    def _answer(self, call: PendingCall, outcome: ToolOutcome) -> None:
        self._outcomes[call.place] = outcome
        if len(self._outcomes) == len(self._calls):
            self._answered.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._group.create_task(work)
