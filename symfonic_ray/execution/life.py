"""The life of one admitted call: attempts, retries, progress, containment, and the text of the result.

Runs on any event loop, here or in a worker of a cluster, and always ends in one outcome: whatever a tool raises,
``SystemExit`` and its own cancellation too, stays inside. Knows no batch, no guard and no sink.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from symfonic_ray.execution.body import ToolBody, body_of, descriptor_of
from symfonic_ray.execution.progress import Emit, drain_blocking, drain_with_progress
from symfonic_ray.execution.result_text import result_text
from symfonic_ray.execution.retry import CANCELLATIONS, RetrySchedule
from symfonic_ray.execution.settling import settled
from symfonic_ray.execution.thread import BodyThread, Ended
from symfonic_ray.execution.values import AdmittedCall, ToolOutcome, ToolProgress
from symfonic_ray.kernel.spans import Attribute, current_tracer
from symfonic_ray.kernel.text import failure_line

STOP_SECONDS = 1.0  # how long a tool that was told to stop may clean up; then it is left alone

_LEFT_ALONE: set[asyncio.Task[Ended]] = set()  # the loop holds tasks weakly: one that runs on must not be collected


async def run_call(admitted: AdmittedCall, *, retries: RetrySchedule, emit: Emit) -> ToolOutcome:
    """Run one call to its end.

    Args:
        admitted: the call and its tool; a descriptor that the tool carries gives the time limit.
        retries: what alone repeats the call.
        emit: hears of the tool's progress while it runs, and never after this returns.
    Returns:
        The outcome; its reason is ``""``, ``not_runnable``, ``exception``, ``cancelled`` or ``timeout``.
    Raises:
        asyncio.CancelledError: only when the task that runs this is cancelled; the tool has been told to stop then.
    """
    tracer = current_tracer()
    if tracer is None:
        return await _whole_life(admitted, retries, emit)
    call = admitted.call
    attributes: dict[str, Attribute] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
    with tracer.start(f"execute_tool {call.name}", attributes | {"gen_ai.tool.call.id": str(call.id)}) as span:
        outcome = await _whole_life(admitted, retries, emit)
        if outcome.reason:
            span.fail(outcome.reason)
        return outcome


async def _whole_life(admitted: AdmittedCall, retries: RetrySchedule, emit: Emit) -> ToolOutcome:
    try:
        body = body_of(admitted.tool)
        seconds = descriptor_of(admitted.tool, admitted.call.name).timeout_seconds
    except Exception as error:
        return failed_outcome(admitted, "not_runnable", failure_line(error), attempts=0)
    clock = asyncio.get_running_loop().time
    ends_at = None if seconds is None else clock() + seconds
    attempt = 0
    while True:
        attempt += 1
        left = None if ends_at is None else max(0.0, ends_at - clock())
        ended = await _within(left, _Attempt(admitted, body, emit).run())
        if ended is None:
            words = f"{admitted.call.name} did not end within its {seconds:g} seconds and was stopped"
            return failed_outcome(admitted, "timeout", words, attempts=attempt)
        if ended.error is None:
            content = result_text(ended.value)
            return ToolOutcome(admitted.call, content, attempts=attempt, value=ended.value)
        delay = retries.delay_for(attempt)
        hopeless = ends_at is not None and clock() + delay >= ends_at
        if hopeless or not retries.should_retry(attempt, ended.error):
            reason = "cancelled" if isinstance(ended.error, CANCELLATIONS) else "exception"
            return failed_outcome(admitted, reason, failure_line(ended.error), attempts=attempt)
        await asyncio.sleep(delay)


def failed_outcome(admitted: AdmittedCall, reason: str, words: str, *, attempts: int) -> ToolOutcome:
    """An error outcome of the dispatch phase; ``reason`` is a code of ``OUTCOME_REASONS``."""
    return ToolOutcome(admitted.call, words, is_error=True, attempts=attempts, reason=reason)


async def _within(seconds: float | None, attempt: Coroutine[Any, Any, Ended]) -> Ended | None:
    """How ``attempt`` ended; None when it was stopped for running over ``seconds``.

    It runs in a task of its own, so that a tool's own cancellation is not taken for the run's.
    """
    task = asyncio.create_task(attempt)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return Ended(error=asyncio.CancelledError()) if task.cancelled() else task.result()
        return None
    finally:
        if not task.done():
            await _stop(task)


async def _stop(task: asyncio.Task[Ended]) -> None:
    task.cancel()
    _LEFT_ALONE.add(task)
    task.add_done_callback(_LEFT_ALONE.discard)
    await asyncio.wait({task}, timeout=STOP_SECONDS)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One start of the body."""

    admitted: AdmittedCall
    body: ToolBody
    emit: Emit

    async def run(self) -> Ended:
        try:
            if self.body.asynchronous:
                ended = Ended(value=await settled(self.body.start(self.admitted.call.args)))
            else:
                ended = await self._in_thread(lambda: self.body.start(self.admitted.call.args))
                if ended.error is not None:
                    return ended
                ended = Ended(value=await settled(ended.value))
            value = ended.value
            if isinstance(value, AsyncIterator):
                return Ended(value=await drain_with_progress(value, self._tell))
            if isinstance(value, Iterator):
                return await self._in_thread(lambda: value)
            return ended
        except BaseException as error:  # a tool may raise anything; what ends the run is seen by the caller's own task
            return Ended(error=error)

    async def _in_thread(self, start: Callable[[], Any]) -> Ended:
        thread = BodyThread()

        def work() -> Any:
            value = start()
            if not isinstance(value, Iterator):
                return value
            return drain_blocking(value, lambda sequence, one: thread.ask(lambda: self._tell(sequence, one)))

        return await thread.run(work)

    async def _tell(self, sequence: int, value: Any) -> None:
        call = self.admitted.call
        with suppress(Exception):
            await self.emit(ToolProgress(call.id, call.name, sequence, value, self.admitted.slot))
