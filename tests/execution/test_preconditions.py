"""Preconditions: order, faults, and counting that is exact."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from symfonic_ray.execution import (
    CallBudget,
    CapabilityRequirement,
    PreconditionSet,
    PreconditionVerdict,
    RetrySchedule,
    SteeringGate,
    ToolCall,
    ToolDescriptor,
    ToolExecutor,
)
from tests.execution.doubles import RuleCheck, call, echo, failing


def block(content: str = "no", reason: str = "rule") -> PreconditionVerdict:
    return PreconditionVerdict.block(content=content, reason=reason)


def budget(limit: int | None = 3, tool: str = "echo") -> CallBudget:
    return CallBudget({tool: ToolDescriptor(tool, None, limit)})


def calls(count: int, start: int = 0) -> list[ToolCall]:
    return [call(id=f"c{number}", value=number) for number in range(start, start + count)]


async def ran_of(executor: ToolExecutor, asked: list[ToolCall]) -> list[str]:
    report = await executor.execute(asked, [echo])
    return [outcome.call.id for outcome in report.outcomes if not outcome.is_error]


def guarded(*checks: Any, **phases: Any) -> ToolExecutor:
    return ToolExecutor(preconditions=PreconditionSet(checks), **phases)


async def test_a_check_without_objection_lets_the_call_run() -> None:
    check = RuleCheck(lambda c: None)
    report = await guarded(check).execute([call(value="x")], [echo])
    assert (report.outcomes[0].content, [c.id for c in check.asked]) == ("x", ["c1"])


async def test_an_objection_is_the_outcome_and_the_tool_does_not_run() -> None:
    report = await guarded(RuleCheck(lambda c: block("ask me tomorrow"), "calendar")).execute(
        [call(value=1)], {"echo": failing(AssertionError("it ran"))}
    )
    (outcome,) = report.outcomes
    assert (outcome.content, outcome.is_error, outcome.attempts) == ("ask me tomorrow", True, 0)
    assert (outcome.phase, outcome.reason, outcome.value) == ("precondition", "blocked", None)
    (record,) = report.trace
    assert (record.phase, record.action, record.detail) == ("precondition", "blocked", "calendar: rule")


async def test_an_objection_may_say_that_it_is_no_error() -> None:
    verdict = PreconditionVerdict(False, "already done", "seen", is_error=False)
    report = await guarded(RuleCheck(lambda c: verdict)).execute([call(value=1)], [echo])
    assert (report.outcomes[0].content, report.outcomes[0].is_error) == ("already done", False)


async def test_an_objection_without_words_is_given_some() -> None:
    report = await guarded(RuleCheck(lambda c: block("", "rule 7"))).execute([call(value=1)], [echo])
    assert report.outcomes[0].content == "echo was not run: rule 7"


async def test_checks_are_asked_in_order_until_the_first_objects() -> None:
    first, second, third = (
        RuleCheck(lambda c: None),
        RuleCheck(lambda c: block("second")),
        RuleCheck(failing(ValueError())),
    )
    report = await guarded(first, second, third).execute([call(value=1)], [echo])
    assert report.outcomes[0].content == "second"
    assert [len(check.asked) for check in (first, second, third)] == [1, 1, 0]


@pytest.mark.parametrize(
    "error",
    [RuntimeError("gate fell"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError("gate fell")],
    ids=lambda e: type(e).__name__,
)
async def test_d22_a_check_that_raises_blocks_the_call_and_the_trace_names_the_fault(error: BaseException) -> None:
    report = await guarded(RuleCheck(failing(error), "gate")).execute(
        [call(value=1)], {"echo": failing(AssertionError("it ran"))}
    )
    assert (report.outcomes[0].is_error, report.outcomes[0].reason) == (True, "check_failed")
    assert (report.trace[0].action, report.trace[0].phase) == ("fault", "precondition")
    assert report.trace[0].detail.startswith(f"gate: {type(error).__name__}")


@pytest.mark.parametrize("answer", [True, False, "blocked", {"admitted": True}], ids=repr)
async def test_an_answer_that_is_no_verdict_blocks_the_call(answer: Any) -> None:
    report = await guarded(RuleCheck(lambda c: answer)).execute([call(value=1)], [echo])
    assert report.outcomes[0].reason == "check_failed"


async def test_d22_an_unavailable_check_admits_and_the_trace_says_undecided() -> None:
    check = RuleCheck(lambda c: PreconditionVerdict.unavailable(reason="store down"), "rules")
    report = await guarded(check).execute([call(value="x")], [echo])
    assert report.outcomes[0].content == "x"
    assert (report.trace[0].action, report.trace[0].detail) == ("undecided", "rules: store down")


async def test_an_unavailable_check_does_not_silence_the_ones_after_it() -> None:
    undecided = RuleCheck(lambda c: PreconditionVerdict.unavailable(reason="down"))
    report = await guarded(undecided, RuleCheck(lambda c: block("later"))).execute([call(value=1)], [echo])
    assert report.outcomes[0].content == "later"


async def test_a_cancellation_of_the_run_is_not_taken_for_a_fault_of_the_check() -> None:
    asked = asyncio.Event()

    class Waiting:
        name = "waiting"

        async def check(self, call: ToolCall) -> None:
            asked.set()
            await asyncio.sleep(60)

    run = asyncio.create_task(guarded(Waiting()).execute([call(value=1)], [echo]))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_check_sees_arguments_that_came_as_text_as_a_mapping() -> None:
    check = RuleCheck(lambda c: None)
    await guarded(check).execute([ToolCall("c", "echo", '{"value": 1}')], [echo])
    assert check.asked[0].args == {"value": 1}


async def test_a_budget_lets_the_first_calls_through_in_call_order() -> None:
    assert await ran_of(guarded(budget(3)), calls(8)) == ["c0", "c1", "c2"]


async def test_a_refusal_of_the_budget_says_the_limit_and_that_nothing_ran() -> None:
    report = await guarded(budget(2)).execute(calls(3), [echo])
    assert report.outcomes[2].reason == "blocked"
    assert "2 times" in report.outcomes[2].content
    assert "not run" in report.outcomes[2].content


async def test_a_budget_spans_batches_until_it_is_reset() -> None:
    limit = budget(3)
    executor = guarded(limit)
    assert await ran_of(executor, calls(2)) == ["c0", "c1"]
    assert await ran_of(executor, calls(2)) == ["c0"]
    limit.reset()
    assert await ran_of(executor, calls(4)) == ["c0", "c1", "c2"]


async def test_a_budget_is_exact_for_batches_that_run_at_the_same_time() -> None:
    executor = guarded(RuleCheck(lambda c: None), budget(5))
    ran = await asyncio.gather(*(ran_of(executor, calls(4, start)) for start in (0, 10, 20)))
    assert sum(map(len, ran)) == 5


async def test_a_tool_without_a_limit_is_not_counted_and_zero_lets_nothing_through() -> None:
    assert await ran_of(guarded(budget(None)), calls(5)) == ["c0", "c1", "c2", "c3", "c4"]
    assert await ran_of(guarded(budget(0)), calls(2)) == []
    assert await ran_of(guarded(budget(1, tool="other")), calls(2)) == ["c0", "c1"]


@pytest.mark.parametrize("place", ["first", "last"])
async def test_a_call_refused_by_another_check_uses_up_nothing_wherever_the_budget_stands(place: str) -> None:
    odd = RuleCheck(lambda c: block() if c.args["value"] % 2 else None)
    checks = (budget(3), odd) if place == "first" else (odd, budget(3))
    assert await ran_of(guarded(*checks), calls(8)) == ["c0", "c2", "c4"]


async def test_a_call_refused_by_a_second_budget_uses_up_nothing_of_the_first() -> None:
    wide, narrow = budget(3), budget(1)
    assert await ran_of(guarded(wide, narrow), calls(8)) == ["c0"]
    narrow.reset()
    assert await ran_of(guarded(wide), calls(8)) == ["c0", "c1"]


async def test_a_call_refused_by_a_check_that_raises_uses_up_nothing() -> None:
    def fails_at_first(asked: ToolCall) -> None:
        if asked.args["value"] == 0:
            raise RuntimeError

    assert await ran_of(guarded(RuleCheck(fails_at_first), budget(2)), calls(3)) == ["c1", "c2"]


async def test_a_call_that_steering_answers_gives_its_count_back() -> None:
    def consult(asked: ToolCall) -> Any:
        return {"action": "skip", "content": "cached", "is_error": True} if asked.args["value"] < 2 else None

    executor = guarded(budget(2), steering=SteeringGate(consult))
    assert await ran_of(executor, calls(5)) == ["c2", "c3"]


@pytest.mark.parametrize(
    "bad", [ToolCall("bad", "nowhere", {}), ToolCall("bad", "echo", '{"value": ')], ids=["unknown", "unreadable"]
)
async def test_a_call_that_cannot_be_read_uses_up_nothing(bad: ToolCall) -> None:
    limits = CallBudget({name: ToolDescriptor(name, None, 1) for name in ("echo", "nowhere")})
    assert await ran_of(guarded(limits), [bad, call(id="good", value=1)]) == ["good"]


async def test_a_retried_call_counts_once() -> None:
    tries: list[int] = []

    def flaky(value: int) -> int:
        tries.append(value)
        if tries.count(value) == 1:
            raise TimeoutError
        return value

    executor = guarded(budget(2), retries=RetrySchedule(max_attempts=2))
    report = await executor.execute(calls(3), {"echo": flaky})
    assert [outcome.attempts for outcome in report.outcomes] == [2, 2, 0]


async def test_counts_of_calls_that_a_cancelled_run_never_started_are_given_back() -> None:
    asked = asyncio.Event()

    async def consult(steered: ToolCall) -> None:
        if steered.args["value"] == 2:
            asked.set()
            await asyncio.sleep(60)

    limit = budget(3)
    run = asyncio.create_task(guarded(limit, steering=SteeringGate(consult)).execute(calls(3), [echo]))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(await ran_of(guarded(limit), calls(8))) == 3


async def test_d29_calls_over_the_limit_are_answered_and_not_charged() -> None:
    asked = [call("a"), call("b"), call("c")]
    limits = CallBudget(
        {"a": ToolDescriptor("a", None, 1), "b": ToolDescriptor("b", None, 0), "c": ToolDescriptor("c", None, 0)}
    )
    report = await guarded(limits).execute(asked, {name: lambda: "ran" for name in "abc"})
    assert [(o.content == "ran", o.reason, o.attempts) for o in report.outcomes] == [
        (True, "", 1),
        (False, "blocked", 0),
        (False, "blocked", 0),
    ]


class Network:
    pass


class Disk:
    pass


@pytest.mark.parametrize(
    ("available", "runs"),
    [(frozenset(), False), (frozenset({Disk}), False), (frozenset({Network, Disk}), True)],
    ids=["nothing", "another", "it"],
)
async def test_a_tool_runs_only_where_the_capability_it_requires_is_available(
    available: frozenset[type], runs: bool
) -> None:
    rule = CapabilityRequirement({"fetch": ToolDescriptor("fetch", Network)}, available=available)
    report = await guarded(rule).execute([call("fetch", value=1)], {"fetch": echo})
    assert (not report.outcomes[0].is_error) is runs
    assert ("Network" in report.outcomes[0].content) is not runs


async def test_a_tool_that_requires_nothing_or_is_not_in_the_catalogue_is_admitted() -> None:
    rule = CapabilityRequirement({"free": ToolDescriptor("free")})
    report = await guarded(rule).execute(
        [call("free", value=1), call("stranger", value=2)], {"free": echo, "stranger": echo}
    )
    assert [outcome.value for outcome in report.outcomes] == [1, 2]
