"""The dispatcher of this process: the parity suite, and what only it can promise."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from symfonic_ray.execution import (
    AdmittedCall,
    InProcessDispatcher,
    RetrySchedule,
    Tool,
    ToolDescriptor,
    ToolExecutor,
)
from tests.execution.dispatcher_parity import DispatcherParity
from tests.execution.doubles import RecordingSink, call, echo


class TestInProcessDispatcher(DispatcherParity):
    """Calls that run in this process pass the suite that every dispatcher passes."""

    @pytest.fixture
    def dispatcher(self) -> InProcessDispatcher:
        return InProcessDispatcher()


async def test_sync_bodies_of_one_batch_run_at_the_same_time() -> None:
    together = threading.Barrier(20, timeout=20)
    report = await ToolExecutor().execute(
        [call("meet", id=str(n)) for n in range(20)], {"meet": lambda: together.wait() >= 0}
    )
    assert [outcome.value for outcome in report.outcomes] == [True] * 20


async def test_a_blocking_body_does_not_hold_up_the_loop() -> None:
    released = threading.Event()

    async def release() -> str:
        released.set()
        return "released"

    report = await ToolExecutor().execute(
        [call("wait"), call("release")], {"wait": lambda: released.wait(20), "release": release}
    )
    assert [outcome.value for outcome in report.outcomes] == [True, "released"]


async def test_a_tool_may_run_a_batch_of_its_own_on_the_same_executor() -> None:
    executor = ToolExecutor(dispatcher=InProcessDispatcher(in_flight=1))

    async def nest(value: int) -> Any:
        inner = await executor.execute([call("body", value=value - 1)], tools)
        return inner.outcomes[0].value + 1

    async def body(value: int) -> int:
        return await nest(value) if value else 0

    tools = {"body": body}
    report = await asyncio.wait_for(executor.execute([call("body", value=5)], tools), 20)
    assert report.outcomes[0].value == 5


async def test_nothing_is_left_running_after_a_report() -> None:
    before = asyncio.all_tasks()

    async def late(value: int) -> Iterator[int]:
        await asyncio.sleep(0)
        raise ValueError

    await ToolExecutor().execute(
        [*[call("body", value=n) for n in range(4)], call("echo", value=1)], {"body": late, "echo": echo}
    )
    assert asyncio.all_tasks() == before


async def test_a_tool_that_cancels_the_task_it_runs_in_cancels_nothing_else() -> None:
    async def own_end() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    report = await ToolExecutor().execute([call("own_end"), call("echo", value=1)], {"own_end": own_end, "echo": echo})
    assert [outcome.reason for outcome in report.outcomes] == ["cancelled", ""]


async def test_pauses_between_attempts_follow_the_schedule() -> None:
    tries: list[float] = []

    def flaky() -> str:
        tries.append(time.monotonic())
        if len(tries) < 3:
            raise OSError
        return "good"

    await ToolExecutor(retries=RetrySchedule(3, 0.03, 2.0)).execute([call("flaky")], {"flaky": flaky})
    assert tries[1] - tries[0] >= 0.03
    assert tries[2] - tries[1] >= 0.06


async def test_a_pause_that_the_time_limit_cannot_hold_is_not_begun() -> None:
    async def broken() -> None:
        raise OSError("closed")

    limited = Tool(broken, ToolDescriptor("broken", timeout_seconds=5))
    report = await ToolExecutor(retries=RetrySchedule(9, 60.0)).execute([call("broken")], [limited])
    assert (report.outcomes[0].content, report.outcomes[0].attempts) == ("OSError: closed", 1)


async def test_the_time_limit_spans_all_attempts() -> None:
    async def broken() -> None:
        await asyncio.sleep(0.1)
        raise OSError("closed")

    limited = Tool(broken, ToolDescriptor("broken", timeout_seconds=1.0))
    report = await ToolExecutor(retries=RetrySchedule(1000)).execute([call("broken")], [limited])
    assert report.outcomes[0].reason in ("timeout", "exception")
    assert 1 < report.outcomes[0].attempts < 11


async def test_progress_is_numbered_from_0_in_each_attempt() -> None:
    sink = RecordingSink()
    tries: list[int] = []

    async def torn() -> AsyncIterator[str]:
        tries.append(1)
        yield "a"
        yield "b"
        if len(tries) < 2:
            raise OSError

    report = await ToolExecutor(progress=sink, retries=RetrySchedule(2)).execute([call("torn")], {"torn": torn})
    assert (report.outcomes[0].value, report.outcomes[0].attempts) == ("b", 2)
    assert sink.payloads() == [(0, "a"), (0, "a")]


async def test_each_attempt_has_its_own_copy_of_the_arguments() -> None:
    seen: list[list[int]] = []

    def spoil(items: list[int]) -> None:
        seen.append(list(items))
        items.append(0)
        raise OSError

    asked = call("spoil", items=[1])
    await ToolExecutor(retries=RetrySchedule(3)).execute([asked], {"spoil": spoil})
    assert (seen, asked.args) == ([[1], [1], [1]], {"items": [1]})


async def test_an_argument_that_cannot_be_copied_is_shared() -> None:
    lock = threading.Lock()
    report = await ToolExecutor().execute([call(value=lock)], [echo])
    assert report.outcomes[0].value is lock


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


async def test_a_tool_reads_the_context_of_the_run() -> None:
    VARIABLE.set("mine")

    async def waiting() -> str:
        return VARIABLE.get()

    report = await ToolExecutor().execute([call("plain"), call("waiting")], {"plain": VARIABLE.get, "waiting": waiting})
    assert [outcome.value for outcome in report.outcomes] == ["mine", "mine"]


async def test_a_plain_function_that_returns_a_coroutine_is_awaited() -> None:
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value

    report = await ToolExecutor().execute([call("plain", value=3)], {"plain": lambda value: later(value)})
    assert report.outcomes[0].value == 3


async def test_a_call_that_other_code_stops_is_answered_all_the_same() -> None:
    started = asyncio.Event()

    async def waiting() -> None:
        started.set()
        await asyncio.sleep(60)

    async def emit(event: Any) -> None:
        raise AssertionError("there is no progress")

    one = AdmittedCall(0, call("waiting"), waiting)
    mine = asyncio.current_task()
    run = asyncio.create_task(InProcessDispatcher().dispatch([one], retries=RetrySchedule(), emit=emit))
    await started.wait()
    for task in asyncio.all_tasks():
        if task not in (mine, run):
            task.cancel()
    (outcome,) = await run
    assert (outcome.call, outcome.is_error, outcome.reason) == (one.call, True, "dispatch_failed")
