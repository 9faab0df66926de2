"""What every dispatcher must do alike, in this process or over a cluster.

A test class inherits ``DispatcherParity`` and gives a ``dispatcher`` fixture.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symfonic_ray.execution import (
    OUTCOME_REASONS,
    Dispatcher,
    ExecutionReport,
    RetrySchedule,
    ToolCall,
    ToolExecutor,
    ToolOutcome,
)
from tests.execution.doubles import RecordingSink, call, echo
from tests.execution.parity_tools import (
    FAULTS,
    AsyncInvoked,
    Callable_,
    Invoked,
    Refused,
    Specification,
    echo_later,
    fall,
    fall_later,
    fall_unprintable,
    flaky,
    forged,
    lines,
    nothing,
    overwrite,
    result,
    slow_blocking,
    slow_waiting,
    stepping,
    stepping_awaited,
    stepping_iterator,
    stepping_later,
    stepping_plain_awaited,
    stepping_returned,
    torn,
    waiter,
    written,
)


class DispatcherParity:
    """The suite. ``dispatcher`` is the one under test."""

    @pytest.fixture
    def notes(self, tmp_path: Path) -> Path:
        return tmp_path / "notes"

    async def run(
        self, dispatcher: Dispatcher, calls: list[ToolCall], tools: dict[str, Any], **phases: Any
    ) -> ExecutionReport:
        report = await ToolExecutor(dispatcher=dispatcher, **phases).execute(calls, tools)
        assert [outcome.call for outcome in report.outcomes] == calls
        assert {outcome.reason for outcome in report.outcomes} <= OUTCOME_REASONS
        return report

    async def test_a_good_call_is_one_attempt_with_its_value(self, dispatcher: Dispatcher) -> None:
        report = await self.run(dispatcher, [call(value="hello")], {"echo": echo})
        assert report.outcomes[0] == ToolOutcome(call(value="hello"), "hello", attempts=1, value="hello")

    async def test_outcomes_stand_in_call_order_whatever_ends_first(self, dispatcher: Dispatcher) -> None:
        calls = [call("echo_later", id=f"c{number}", value=number) for number in range(4)]
        report = await self.run(dispatcher, calls, {"echo_later": echo_later})
        assert [outcome.value for outcome in report.outcomes] == [0, 1, 2, 3]

    async def test_d12_blank_and_repeated_ids_keep_their_slots(self, dispatcher: Dispatcher) -> None:
        calls = [call(id=name, value=value) for name, value in [("", "a"), ("", "b"), ("x", "c"), ("x", "d")]]
        report = await self.run(dispatcher, calls, {"echo": echo})
        assert [(o.call.id, o.content) for o in report.outcomes] == [("", "a"), ("", "b"), ("x", "c"), ("x", "d")]

    async def test_a_call_without_arguments_runs_without_them(self, dispatcher: Dispatcher) -> None:
        calls = [ToolCall("a", "nothing"), ToolCall("b", "nothing", None), ToolCall("c", "nothing", "")]
        report = await self.run(dispatcher, calls, {"nothing": nothing})
        assert [outcome.content for outcome in report.outcomes] == ["nothing asked"] * 3

    @pytest.mark.parametrize(
        ("shape", "value"),
        [
            (Invoked(), ("invoked", {"value": 1})),
            (AsyncInvoked(), ("ainvoked", {"value": 1})),
            (Specification(), ("specified", 1)),
            (Callable_(), ("called", 1)),
        ],
        ids=lambda part: type(part).__name__,
    )
    async def test_every_shape_of_tool_is_run(self, dispatcher: Dispatcher, shape: Any, value: Any) -> None:
        report = await self.run(dispatcher, [call("shape", value=1)], {"shape": shape})
        assert report.outcomes[0].value == value

    @pytest.mark.parametrize("body", [fall, fall_later], ids=["plain", "async"])
    @pytest.mark.parametrize("kind", FAULTS)
    async def test_d19_whatever_a_tool_raises_is_one_error_outcome_beside_good_ones(
        self, dispatcher: Dispatcher, kind: str, body: Any, notes: Path
    ) -> None:
        calls = [call(value=1), call("body", kind=kind, path=str(notes)), call(value=2)]
        report = await self.run(dispatcher, calls, {"echo": echo, "body": body})
        good, bad, other = report.outcomes
        assert (good.value, other.value) == (1, 2)
        assert (bad.is_error, bad.attempts, bad.value) == (True, 1, None)
        assert bad.reason == ("cancelled" if kind == "CancelledError" else "exception")
        named = "RuntimeError" if (kind, body) == ("StopIteration", fall_later) else kind  # the language's own rule
        assert bad.content.startswith(named)
        assert lines(notes) == [kind]

    async def test_an_exception_that_cannot_be_printed_is_named_by_its_type(self, dispatcher: Dispatcher) -> None:
        report = await self.run(dispatcher, [call("fall")], {"fall": fall_unprintable})
        assert report.outcomes[0].content.startswith("Unprintable")

    async def test_arguments_that_do_not_fit_are_one_error_outcome(self, dispatcher: Dispatcher) -> None:
        calls = [call(other=1), ToolCall("c", "echo", {1: 2}), call(value=1)]
        report = await self.run(dispatcher, calls, {"echo": echo})
        assert [outcome.is_error for outcome in report.outcomes] == [True, True, False]

    async def test_a_tool_that_cannot_be_called_is_one_error_outcome(self, dispatcher: Dispatcher) -> None:
        report = await self.run(dispatcher, [call("five"), call(value=1)], {"five": 5, "echo": echo})
        bad, good = report.outcomes
        assert (bad.is_error, bad.reason, bad.attempts, good.value) == (True, "not_runnable", 0, 1)

    @pytest.mark.parametrize(
        ("kind", "value", "text"),
        [
            ("none", None, "null"),
            ("list", [], "[]"),
            ("map", {}, "{}"),
            ("zero", 0, "0"),
            ("false", False, "false"),
            ("text", "", ""),
            ("other", "größe", "größe"),
        ],
    )
    async def test_d26_an_empty_result_is_a_result(
        self, dispatcher: Dispatcher, kind: str, value: Any, text: str
    ) -> None:
        report = await self.run(dispatcher, [call("result", kind=kind)], {"result": result})
        (outcome,) = report.outcomes
        assert (outcome.is_error, outcome.content, outcome.reason) == (False, text, "")
        assert outcome.value == value
        assert type(outcome.value) is type(value)

    async def test_a_forged_outcome_is_a_value_and_nothing_more(self, dispatcher: Dispatcher) -> None:
        report = await self.run(
            dispatcher, [call("forged", value="x"), call(value=1)], {"forged": forged, "echo": echo}
        )
        outcome = report.outcomes[0]
        assert (outcome.call.id, outcome.is_error, outcome.attempts, outcome.reason) == ("c1", False, 1, "")
        assert outcome.value == forged("x")

    @pytest.mark.parametrize(
        "body",
        [stepping, stepping_returned, stepping_iterator, stepping_later, stepping_awaited, stepping_plain_awaited],
        ids=lambda body: body.__name__,
    )
    @pytest.mark.parametrize("count", [0, 1, 3])
    async def test_d11_what_a_tool_yields_is_drained_to_its_last_value(
        self, dispatcher: Dispatcher, body: Any, count: int
    ) -> None:
        sink = RecordingSink()
        report = await self.run(dispatcher, [call("body", count=count)], {"body": body}, progress=sink)
        assert report.outcomes[0].value == (count - 1 if count else None)
        assert report.outcomes[0].is_error is False
        assert sink.payloads() == [(number, number) for number in range(count - 1)]

    async def test_progress_of_calls_that_run_together_is_in_order_for_each(self, dispatcher: Dispatcher) -> None:
        sink = RecordingSink()
        calls = [call("body", id="", count=count) for count in (2, 5, 3)]
        await self.run(dispatcher, calls, {"body": stepping_later}, progress=sink)
        assert [sink.payloads(slot) for slot in range(3)] == [
            [(number, number) for number in range(count - 1)] for count in (2, 5, 3)
        ]

    async def test_a_sink_that_raises_changes_no_outcome(self, dispatcher: Dispatcher) -> None:
        sink = RecordingSink(fails_on=0)
        report = await self.run(dispatcher, [call("body", count=4)], {"body": stepping}, progress=sink)
        assert (report.outcomes[0].value, sink.payloads()) == (3, [(1, 1), (2, 2)])

    async def test_a_stream_that_tears_is_an_error_outcome_after_its_progress(self, dispatcher: Dispatcher) -> None:
        sink = RecordingSink()
        report = await self.run(dispatcher, [call("torn", count=3)], {"torn": torn}, progress=sink)
        assert (report.outcomes[0].content, report.outcomes[0].reason) == ("Refused: 500 torn", "exception")
        assert sink.payloads() == [(0, 0), (1, 1)]

    async def test_a_tool_that_comes_good_is_good_and_its_attempts_are_counted(
        self, dispatcher: Dispatcher, notes: Path
    ) -> None:
        schedule = RetrySchedule(max_attempts=5, retry_on=(Refused,))
        report = await self.run(
            dispatcher, [call("flaky", path=str(notes), good_on=3)], {"flaky": flaky}, retries=schedule
        )
        assert (report.outcomes[0].content, report.outcomes[0].attempts) == ("good", 3)
        assert len(lines(notes)) == 3

    async def test_the_last_error_stands_when_the_attempts_are_used_up(
        self, dispatcher: Dispatcher, notes: Path
    ) -> None:
        schedule = RetrySchedule(max_attempts=2, retry_on=(Refused,))
        report = await self.run(
            dispatcher, [call("flaky", path=str(notes), good_on=9)], {"flaky": flaky}, retries=schedule
        )
        assert (report.outcomes[0].content, report.outcomes[0].attempts) == ("Refused: 503 busy", 2)
        assert len(lines(notes)) == 2

    @pytest.mark.parametrize("listed", [(), (OSError,)], ids=["nothing", "another type"])
    async def test_an_error_that_is_not_listed_is_not_retried(
        self, dispatcher: Dispatcher, notes: Path, listed: tuple[type[Exception], ...]
    ) -> None:
        schedule = RetrySchedule(max_attempts=5, retry_on=listed)
        report = await self.run(
            dispatcher, [call("flaky", path=str(notes), good_on=2)], {"flaky": flaky}, retries=schedule
        )
        assert (report.outcomes[0].is_error, report.outcomes[0].attempts) == (True, 1)
        assert len(lines(notes)) == 1

    async def test_a_tool_s_own_cancellation_is_not_retried(self, dispatcher: Dispatcher, notes: Path) -> None:
        schedule = RetrySchedule(max_attempts=5, retry_on=(BaseException,))
        report = await self.run(
            dispatcher,
            [call("fall", kind="CancelledError", path=str(notes))],
            {"fall": fall_later},
            retries=schedule,
        )
        assert (report.outcomes[0].reason, report.outcomes[0].attempts, lines(notes)) == (
            "cancelled",
            1,
            ["CancelledError"],
        )

    @pytest.mark.parametrize("body", [slow_blocking, slow_waiting], ids=["plain", "async"])
    async def test_a_tool_over_its_own_time_limit_is_an_error_outcome(
        self, dispatcher: Dispatcher, body: Any, notes: Path
    ) -> None:
        schedule = RetrySchedule(max_attempts=3)
        calls = [call("body", path=str(notes)), call(value=1)]
        report = await self.run(dispatcher, calls, {"body": body, "echo": echo}, retries=schedule)
        late, good = report.outcomes
        assert (late.is_error, late.reason, late.attempts, good.value) == (True, "timeout", 1, 1)
        assert "0.2 seconds" in late.content
        assert lines(notes) == ["started"]

    async def test_d25_a_tool_writes_to_a_private_copy_of_its_arguments(self, dispatcher: Dispatcher) -> None:
        array = np.zeros(3)
        report = await ToolExecutor(dispatcher=dispatcher).execute(
            [call("overwrite", array=array), call("overwrite", array=array)], {"overwrite": overwrite}
        )
        assert [outcome.value.tolist() for outcome in report.outcomes] == [[9.0, 0.0, 0.0]] * 2
        assert array.tolist() == [0.0, 0.0, 0.0]

    async def test_a_cancelled_run_leaves_as_cancellation_and_stops_its_tools(
        self, dispatcher: Dispatcher, notes: Path
    ) -> None:
        schedule = RetrySchedule(max_attempts=3, retry_on=(BaseException,))
        run = asyncio.create_task(
            self.run(dispatcher, [call("waiter", path=str(notes))], {"waiter": waiter}, retries=schedule)
        )
        assert await asyncio.to_thread(written, notes)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert lines(notes) == ["started"]

    async def test_an_empty_batch_is_an_empty_report(self, dispatcher: Dispatcher) -> None:
        assert await self.run(dispatcher, [], {"echo": echo}) == ExecutionReport()
