"""One batch of tool calls on Ray: what goes when, and what each call came to. Knows no setting and starts no Ray.

No more than ``in_flight`` calls are out at once. What has been sent counts as started, so when a worker dies only what
never left goes elsewhere as if nothing had been; the rest is answered as lost, or tried again where the retry schedule
says so. Chunks are of idempotent calls alone: what is unanswered of a dead one is sent once more, each call by itself.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerms:
    """What holds for every batch of one dispatcher."""

    in_flight: int
    text_bytes: int
    value_bytes: int


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
        self._waiting: deque[tuple[PendingCall, ...]] = deque()
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
        for chunk in chunked([self._cut(call.route) for call in ready]):
            self._waiting.append(tuple(ready[place] for place in chunk))
        self._pump()

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
        self._waiting.appendleft((call,))
        self._pump()

    def _pump(self) -> None:
        """Let as many calls go as there is room for."""
        shared: list[Packed] = []
        while self._waiting and self._room > 0 and not self._closed:
            unit = self._waiting.popleft()
            if unit[0].route.lane == "here":
                self._room -= 1
                self._spawn(self._run_here(unit[0]))
                continue
            packed = [(call, args) for call in unit if (args := self._packed(call)) is not None]
            if not packed:
                continue
            self._room -= 1
            if unit[0].route.lane == "shared":
                shared.extend(packed)
            else:
                self._spawn(self._send(packed, together=False))
        for start, end in shares(len(shared), self._slots):
            self._spawn(self._send(shared[start:end], together=True))

    def _packed(self, call: PendingCall) -> bytes | None:
        """The arguments as they travel; None, and the call answered, where they cannot."""
        try:
            return packed_arguments(call.args)
        except Exception as error:  # pickling runs foreign __reduce__ methods
            words = f"{call.name} was not run: its arguments cannot be sent to another process ({failure_line(error)})"
            self._answer(call, failed_outcome(call.asked, "serialization", words, attempts=call.attempts))
            return None

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
        self._room += 1
        self._answer(call, replace(outcome, call=one.call, content=content))
        self._pump()

    async def _send(self, packed: Sequence[Packed], *, together: bool) -> None:
        """Carry calls in one task; where they run together each gives its room back with its outcome."""
        terms = ShareTerms(
            retries=self._schedule,
            text_bytes=self._terms.text_bytes,
            value_bytes=self._terms.value_bytes,
            together=together,
            announced=any(call.route.descriptor.timeout_seconds is not None for call, _ in packed),
        )

        def answer(call: PendingCall, outcome: ToolOutcome) -> None:
            self._room += together
            self._answer(call, outcome)

        sending = Sending(packed, terms, emit=self._emit, answer=answer, arrived=self._pump)
        try:
            ending = await sending.run()
        except asyncio.CancelledError:
            if self._closed:
                raise
            ending = sending.ending()
        self._room += len(ending.lost) if together else 1
        for call in reversed(ending.again):
            await self._note(call, "resent", "its chunk ended through another call; it may have been started before")
            self._waiting.appendleft((call,))
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
        self._waiting.appendleft((call,))
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
