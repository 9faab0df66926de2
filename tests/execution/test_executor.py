"""The executor: reading, pairing by slot, and what an injected dispatcher cannot break."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.execution import (
    CallBudget,
    DuplicateToolError,
    ExecutionReport,
    PhaseRecord,
    PreconditionSet,
    RetrySchedule,
    SteeringGate,
    ToolCall,
    ToolDescriptor,
    ToolExecutor,
    ToolOutcome,
    ToolProgress,
    UnnamedToolError,
)
from tests.execution.doubles import RecordingSink, RuleCheck, ScriptedDispatcher, call, echo, failing


def answers(*contents: str) -> ScriptedDispatcher:
    return ScriptedDispatcher(lambda admitted, emit: [ToolOutcome(ToolCall("forged", "x"), text) for text in contents])


async def test_an_empty_batch_is_an_empty_report_and_reaches_no_dispatcher() -> None:
    dispatcher = ScriptedDispatcher(failing(AssertionError("it was asked")))
    assert await ToolExecutor(dispatcher=dispatcher).execute([], [echo]) == ExecutionReport()
    assert dispatcher.admitted == []


def test_the_phases_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        ToolExecutor(PreconditionSet())  # type: ignore[call-arg]  # the point of the test


NAMED = SimpleNamespace(name="named", invoke=lambda args: "named ran")
UNKNOWN: list[Any] = ["nowhere", "", "ECHO", ["echo"], None]


async def test_tools_of_an_iterable_are_found_by_name_or_else_by_dunder_name() -> None:
    report = await ToolExecutor().execute([call("named"), call("echo", value=1)], iter([NAMED, echo]))
    assert [outcome.content for outcome in report.outcomes] == ["named ran", "1"]


async def test_tools_of_a_mapping_are_found_by_its_keys() -> None:
    report = await ToolExecutor().execute([call("other"), call("named")], {"other": NAMED})
    assert [outcome.is_error for outcome in report.outcomes] == [False, True]


async def test_two_tools_of_one_name_in_an_iterable_are_refused() -> None:
    with pytest.raises(DuplicateToolError, match="'echo'"):
        await ToolExecutor().execute([], [echo, echo])


@pytest.mark.parametrize(
    "nameless", [partial(echo, 1), SimpleNamespace(name=7), object()], ids=["partial", "number", "object"]
)
async def test_a_nameless_tool_in_an_iterable_is_refused(nameless: Any) -> None:
    with pytest.raises(UnnamedToolError):
        await ToolExecutor().execute([], [nameless])


@pytest.mark.parametrize("name", UNKNOWN, ids=repr)
async def test_a_call_of_no_known_tool_is_one_error_outcome_that_lists_the_tools(name: Any) -> None:
    report = await ToolExecutor().execute([ToolCall("c", name), call(value=1)], {"echo": echo, "fetch": echo})
    bad, good = report.outcomes
    assert (bad.is_error, bad.reason, bad.phase, bad.attempts, good.value) == (True, "unknown_tool", "reading", 0, 1)
    assert repr(name) in bad.content
    assert "echo, fetch" in bad.content
    assert (report.trace[0].phase, report.trace[0].action, report.trace[0].slot) == ("reading", "refused", 0)


async def test_an_outsize_name_and_an_outsize_palette_are_shown_in_part() -> None:
    tools = {f"tool_{number:04}": echo for number in range(2000)}
    report = await ToolExecutor().execute([call("x" * 5000)], tools)
    assert len(report.outcomes[0].content) < 1500


UNREADABLE: list[Any] = ['{"value": 1', '{"value": 1, "value": 2}', '{"value": NaN}', "[]", "null", [1], 5, True]


@pytest.mark.parametrize("args", UNREADABLE, ids=repr)
async def test_unreadable_arguments_are_an_error_outcome_and_nothing_runs(args: Any) -> None:
    ran: list[Any] = []
    tools = {"note": lambda value=None: ran.append(value)}
    report = await ToolExecutor(retries=RetrySchedule(3)).execute([ToolCall("c", "note", args)], tools)
    (outcome,) = report.outcomes
    assert (outcome.is_error, outcome.reason, outcome.attempts, ran) == (True, "bad_arguments", 0, [])
    assert outcome.call.args is args
    assert "arguments" in outcome.content


async def test_arguments_that_raise_when_they_are_read_are_an_error_outcome() -> None:
    class Torn(dict[str, Any]):
        def values(self) -> Any:
            raise RuntimeError("torn")

    report = await ToolExecutor().execute([ToolCall("c", "echo", Torn(value=1)), call(value=1)], [echo])
    assert [outcome.reason for outcome in report.outcomes] == ["bad_arguments", ""]


async def test_argument_text_is_read_once_and_the_outcome_keeps_the_call_as_asked() -> None:
    dispatcher = answers("x")
    asked = ToolCall("c", "echo", '{"value": [1]}')
    report = await ToolExecutor(dispatcher=dispatcher).execute([asked], [echo])
    assert dispatcher.admitted[0].call.args == {"value": [1]}
    assert report.outcomes[0].call is asked


async def test_a_dispatcher_is_handed_the_admitted_calls_with_slot_and_tool() -> None:
    dispatcher = answers("first", "third")
    calls = [call(id="", value=0), call("nowhere", id=""), call(id="", value=2)]
    report = await ToolExecutor(dispatcher=dispatcher).execute(calls, [echo])
    assert [(one.slot, one.call, one.tool) for one in dispatcher.admitted] == [(0, calls[0], echo), (2, calls[2], echo)]
    assert [outcome.content for outcome in report.outcomes][::2] == ["first", "third"]
    assert [outcome.call for outcome in report.outcomes] == calls


async def test_a_batch_of_which_nothing_is_admitted_reaches_no_dispatcher() -> None:
    dispatcher = ScriptedDispatcher(failing(AssertionError("it was asked")))
    report = await ToolExecutor(dispatcher=dispatcher).execute([call("nowhere")], [echo])
    assert report.outcomes[0].reason == "unknown_tool"


BROKEN: dict[str, Any] = {
    "raises": failing(RuntimeError("no cluster")),
    "exits": failing(SystemExit(1)),
    "cancels itself": failing(asyncio.CancelledError()),
    "answers nothing": lambda admitted, emit: None,
    "answers too few": lambda admitted, emit: [ToolOutcome(admitted[1].call, "second")],
    "answers too many": lambda admitted, emit: [ToolOutcome(admitted[0].call, "x")] * 3,
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN.keys())
async def test_a_dispatcher_that_breaks_leaves_one_error_outcome_a_call(script: Any) -> None:
    calls = [call(id="a", value=1), call(id="b", value=2)]
    report = await ToolExecutor(dispatcher=ScriptedDispatcher(script)).execute(calls, [echo])
    assert [(o.call, o.is_error, o.reason) for o in report.outcomes] == [(c, True, "dispatch_failed") for c in calls]
    assert [record.action for record in report.trace] == ["fault", "fault", "failed", "failed"]


async def test_an_answer_that_is_no_outcome_is_an_error_outcome_beside_good_ones() -> None:
    dispatcher = ScriptedDispatcher(lambda admitted, emit: ["text", ToolOutcome(admitted[1].call, "good")])
    report = await ToolExecutor(dispatcher=dispatcher).execute([call(value=1), call(value=2)], [echo])
    assert [outcome.reason for outcome in report.outcomes] == ["dispatch_failed", ""]


async def test_a_dispatcher_may_put_lines_into_the_trace_and_tell_progress_without_waiting() -> None:
    sink = RecordingSink()

    class AsyncSink:
        async def emit(self, event: ToolProgress) -> None:
            await asyncio.sleep(0)
            sink.emit(event)

    placed = PhaseRecord("dispatch", "c1", "placed", "in this process", 0)

    def script(admitted: Any, emit: Any) -> Any:
        emit(placed)
        emit(ToolProgress("c1", "echo", 0, "half"))
        return [ToolOutcome(admitted[0].call, "good")]

    executor = ToolExecutor(dispatcher=ScriptedDispatcher(script), progress=AsyncSink())
    report = await executor.execute([call(value=1)], [echo])
    assert report.trace[0] == placed
    assert sink.payloads() == [(0, "half")]


async def test_a_dispatcher_s_late_event_is_dropped() -> None:
    sink = RecordingSink()
    kept: list[Any] = []

    def script(admitted: Any, emit: Any) -> Any:
        kept.append(emit)
        return [ToolOutcome(admitted[0].call, "good")]

    await ToolExecutor(dispatcher=ScriptedDispatcher(script), progress=sink).execute([call(value=1)], [echo])
    await kept[0](ToolProgress("c1", "echo", 0, "late"))
    assert sink.events == []


async def test_the_phases_come_in_order_and_an_answered_call_goes_no_further() -> None:
    asked: list[str] = []

    def noting(phase: str, answer: Any = None) -> Any:
        def note(subject: ToolCall) -> Any:
            asked.append(f"{phase} {subject.id}")
            return answer

        return note

    executor = ToolExecutor(
        preconditions=PreconditionSet(
            [RuleCheck(noting("check")), CallBudget({"echo": ToolDescriptor("echo", None, 1)})]
        ),
        steering=SteeringGate(noting("steer")),
    )
    calls = [call("nowhere", id="a"), call(id="b", value=1), call(id="c", value=2)]
    report = await executor.execute(calls, [echo])
    assert asked == ["check b", "steer b", "check c"]
    assert [outcome.phase for outcome in report.outcomes] == ["reading", "dispatch", "precondition"]


async def test_the_trace_tells_of_every_call_by_slot() -> None:
    executor = ToolExecutor(
        steering=SteeringGate(lambda c: {"action": "skip", "content": "no"} if c.args.get("value") == 1 else None)
    )
    calls = [call(id="", value=0), call(id="", value=1), call("nowhere", id=""), call("fall", id="")]
    report = await executor.execute(calls, {"echo": echo, "fall": failing(ValueError("x"))})
    assert [(record.slot, record.phase, record.action, record.call_id) for record in report.trace] == [
        (1, "steering", "answered", ""),
        (2, "reading", "refused", ""),
        (0, "dispatch", "delivered", ""),
        (3, "dispatch", "failed", ""),
    ]


async def test_a_result_that_cannot_be_printed_touches_no_sibling() -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise KeyboardInterrupt

        __repr__ = __str__

    report = await ToolExecutor().execute([call("odd"), call(value="fine")], {"odd": Unprintable, "echo": echo})
    assert [outcome.is_error for outcome in report.outcomes] == [False, False]
    assert "Unprintable" in report.outcomes[0].content


async def test_a_tool_without_progress_never_knows_of_it() -> None:
    sink = RecordingSink()
    report = await ToolExecutor(progress=sink).execute([call(value=["a", "b"])], [echo])
    assert (report.outcomes[0].value, sink.events) == (["a", "b"], [])


async def test_calls_may_come_as_any_sequence_of_calls() -> None:
    def made() -> Iterator[ToolCall]:
        yield call(value=1)

    report = await ToolExecutor().execute(tuple(made()), [echo])
    assert report.outcomes[0].value == 1
