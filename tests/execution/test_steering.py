"""Steering: only a clear skip answers; a broken guard shows."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from symfonic_ray.execution import SteeringGate, ToolCall, ToolExecutor
from tests.execution.doubles import call, failing


async def steered(consult: Any, calls: list[ToolCall] | None = None, **options: Any) -> tuple[Any, list[Any]]:
    ran: list[Any] = []
    executor = ToolExecutor(steering=SteeringGate(consult, **options))
    asked = [call("note", value="x")] if calls is None else calls
    return await executor.execute(asked, {"note": lambda value: ran.append(value)}), ran


async def test_a_skip_is_the_outcome_and_the_tool_does_not_run() -> None:
    report, ran = await steered(lambda c: {"action": "skip", "content": "no"})
    (outcome,) = report.outcomes
    assert (outcome.content, outcome.is_error, outcome.attempts, ran) == ("no", True, 0, [])
    assert (outcome.phase, outcome.reason) == ("steering", "steered")
    assert (report.trace[-1].phase, report.trace[-1].action) == ("steering", "answered")


async def test_a_guard_may_be_async_and_is_asked_with_the_call() -> None:
    async def consult(asked: ToolCall) -> Any:
        await asyncio.sleep(0)
        return {"action": "skip", "content": f"{asked.name} {asked.args['value']}"}

    report, _ = await steered(consult)
    assert report.outcomes[0].content == "note x"


@pytest.mark.parametrize(("said", "is_error"), [(False, False), (True, True), ("false", True), (None, True), (0, True)])
async def test_only_false_makes_an_answer_no_error(said: Any, is_error: bool) -> None:
    report, _ = await steered(lambda c: {"action": "skip", "content": "x", "is_error": said})
    assert report.outcomes[0].is_error is is_error


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ({"action": "skip"}, "note was not run: the guard said skip"),
        ({"action": "skip", "content": {"cached": [1]}}, '{"cached": [1]}'),
        ({"action": "skip", "content": ""}, ""),
    ],
    ids=["none", "a mapping", "an empty text"],
)
async def test_the_answer_s_content_is_text(answer: Any, content: str) -> None:
    report, _ = await steered(lambda c: answer)
    assert report.outcomes[0].content == content


ADMITTING: list[Any] = [
    None,
    "skip",
    True,
    {},
    {"action": "SKIP", "content": "no"},
    {"action": ["skip"]},
    {"content": "no"},
    ["skip"],
    SimpleNamespace(action="skip", content="no"),
]


@pytest.mark.parametrize("answer", ADMITTING, ids=repr)
@pytest.mark.parametrize("on_error", ["admit", "refuse"])
async def test_any_other_answer_admits(answer: Any, on_error: Literal["admit", "refuse"]) -> None:
    report, ran = await steered(lambda c: answer, on_error=on_error)
    assert (ran, report.outcomes[0].is_error) == (["x"], False)


async def test_no_guard_admits_everything() -> None:
    _, ran = await steered(None)
    assert ran == ["x"]


FAULTS = [RuntimeError("guard broke"), SystemExit("guard broke"), asyncio.CancelledError("guard broke")]


@pytest.mark.parametrize("error", FAULTS, ids=lambda e: type(e).__name__)
async def test_d22_a_guard_that_raises_admits_and_the_trace_records_its_fault(error: BaseException) -> None:
    report, ran = await steered(failing(error))
    assert (ran, report.outcomes[0].is_error) == (["x"], False)
    assert (report.trace[0].phase, report.trace[0].action) == ("steering", "fault")
    assert report.trace[0].detail == f"{type(error).__name__}: guard broke"


@pytest.mark.parametrize("error", FAULTS, ids=lambda e: type(e).__name__)
async def test_a_fail_closed_gate_refuses_when_its_guard_raises(error: BaseException) -> None:
    report, ran = await steered(failing(error), on_error="refuse")
    assert (ran, report.outcomes[0].is_error, report.outcomes[0].reason) == ([], True, "steering_failed")
    assert "guard failed" in report.outcomes[0].content
    assert [record.action for record in report.trace] == ["fault", "answered"]


def test_a_gate_knows_only_two_answers_to_a_fault() -> None:
    with pytest.raises(ValueError, match="'block'; say 'admit' or 'refuse'"):
        SteeringGate(None, on_error="block")  # type: ignore[arg-type]  # the point of the test


async def test_every_steered_call_is_answered_once_in_its_own_slot() -> None:
    calls = [call("note", id=name, value=value) for value, name in enumerate(["x", "", "", "x"])]
    report, ran = await steered(
        lambda c: {"action": "skip", "content": f"no {c.args['value']}"} if c.args["value"] in (1, 3) else None, calls
    )
    assert [outcome.content for outcome in report.outcomes] == ["null", "no 1", "null", "no 3"]
    assert sorted(ran) == [0, 2]


async def test_a_cancellation_of_the_run_is_not_taken_for_a_fault_of_the_guard() -> None:
    asked = asyncio.Event()

    async def consult(_: ToolCall) -> None:
        asked.set()
        await asyncio.sleep(60)

    run = asyncio.create_task(steered(consult))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
