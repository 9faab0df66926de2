"""Skills: a predicate gates, advice does not, and what cannot be judged blocks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.execution import PreconditionSet, PreconditionVerdict, SkillPrecondition, ToolCall, ToolExecutor
from symfonic_ray.execution.skill_gate import called_tools
from tests.execution.doubles import call, echo, failing


def skill(precondition: Any, **metadata: Any) -> Any:
    return {"metadata": {"action_tool": "act", "precondition": precondition, **metadata}}


def asks(*named: tuple[str, str]) -> dict[str, Any]:
    return {"type": "ai", "tool_calls": [{"id": call_id, "name": name, "args": {}} for call_id, name in named]}


def answers(call_id: str = "", name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool", "tool_call_id": call_id, "name": name, "content": "ok", **more}


def after(*names: str, **facts: Any) -> dict[str, Any]:
    return {"messages": [answers(name=name) for name in names], **facts}


async def verdict(skills: Any, state: Any, name: str = "act") -> PreconditionVerdict | None:
    async def found() -> Any:
        return skills

    return await SkillPrecondition(found, state if callable(state) else lambda: state).check(call(name))


async def admits(precondition: Any, state: Any) -> bool:
    said = await verdict([skill(precondition)], state)
    assert said is None or (said.content and said.reason and not said.undetermined)
    return said is None


TOOL_PREDICATES = {
    "a bare name": "lookup",
    "a name with spaces about": "  lookup\n",
    "a name with arguments": "lookup(id=<x>, deep(y))",
    "a list of one": ["lookup"],
    "a mapping": {"tool": "lookup"},
    "a mapping with arguments": {"tool": "lookup(id)"},
    "a list with a mapping": ({"tool": "lookup"},),
}


@pytest.mark.parametrize("predicate", TOOL_PREDICATES.values(), ids=TOOL_PREDICATES.keys())
async def test_a_tool_that_must_have_been_called_gates_the_action(predicate: Any) -> None:
    assert not await admits(predicate, after())
    assert not await admits(predicate, after("search"))
    assert await admits(predicate, after("search", "lookup"))


async def test_an_objection_names_the_tool_to_call_first() -> None:
    said = await verdict([skill("lookup")], after())
    assert said is not None
    assert "call lookup first" in said.content


async def test_every_part_of_a_list_must_hold() -> None:
    both = ["lookup", {"tool": "verify"}, {"state": {"path": "paid", "op": "eq", "value": True}}]
    assert not await admits(both, after("lookup", paid=True))
    assert not await admits(both, after("lookup", "verify", paid=False))
    assert await admits(both, after("lookup", "verify", paid=True))


async def test_a_mapping_with_a_tool_and_a_state_asks_for_both() -> None:
    both = {"tool": "lookup", "state": {"path": "paid", "op": "exists"}}
    assert not await admits(both, after("lookup"))
    assert not await admits(both, after(paid=1))
    assert await admits(both, after("lookup", paid=1))


ADVICE = [
    "before delivery, call lookup",
    "lookup first",
    "Carefully.",
    "lookup (if you can)",
    "",
    [],
    ["be kind"],
    None,
]


@pytest.mark.parametrize("advice", ADVICE, ids=repr)
async def test_free_text_and_no_precondition_gate_nothing_and_need_no_state(advice: Any) -> None:
    assert await admits(advice, failing(AssertionError("the state was read")))


async def test_a_skill_governs_its_action_tool_and_no_other() -> None:
    assert await verdict([skill("lookup")], after(), name="other") is None
    assert await verdict([], after()) is None


@pytest.mark.parametrize(
    ("metadata", "governs"),
    [
        ({"steps": ["act", "report"]}, True),
        ({"steps": ["act(x)", "report"]}, True),
        ({"steps": ["report", "act"]}, False),
        ({"steps": []}, False),
        ({"action_tool": "report", "steps": ["act"]}, False),
        ({"action_tool": "", "steps": ["act"]}, True),
        ({"action_tool": 7}, False),
    ],
    ids=str,
)
async def test_a_skill_without_an_action_tool_governs_its_first_step(metadata: Any, governs: bool) -> None:
    said = await verdict([{"metadata": {"precondition": "lookup", **metadata}}], after())
    assert (said is not None) is governs


@pytest.mark.parametrize("stray", [{}, {"metadata": None}, {"metadata": "act"}, None, 5], ids=repr)
async def test_a_skill_without_metadata_governs_nothing(stray: Any) -> None:
    assert await verdict([stray], after()) is None
    assert await verdict([stray, skill("lookup")], after()) is not None


async def test_a_skill_is_read_by_attribute_too() -> None:
    read = SimpleNamespace(metadata={"action_tool": "act", "precondition": "lookup"})
    state = SimpleNamespace(messages=[SimpleNamespace(type="tool", name="lookup", tool_call_id="1", status="success")])
    assert await verdict([read], SimpleNamespace(messages=[])) is not None
    assert await verdict([read], state) is None


async def test_one_of_two_skills_of_one_action_is_enough_to_block() -> None:
    assert await verdict([skill(None), skill("lookup")], after()) is not None


RULES = {
    "eq holds": ({"path": "order.status", "op": "eq", "value": "paid"}, {"order": {"status": "paid"}}, True),
    "eq fails": ({"path": "order.status", "op": "eq", "value": "paid"}, {"order": {"status": "open"}}, False),
    "eq of 1 is not True": ({"path": "a", "op": "eq", "value": True}, {"a": 1}, False),
    "eq of None": ({"path": "a", "op": "eq", "value": None}, {"a": None}, True),
    "neq holds": ({"path": "a", "op": "neq", "value": "open"}, {"a": "paid"}, True),
    "neq fails": ({"path": "a", "op": "neq", "value": "open"}, {"a": "open"}, False),
    "in holds": ({"path": "a", "op": "in", "value": ["paid", "sent"]}, {"a": "sent"}, True),
    "in fails": ({"path": "a", "op": "in", "value": ["paid", "sent"]}, {"a": "open"}, False),
    "in nothing": ({"path": "a", "op": "in", "value": []}, {"a": "open"}, False),
    "exists holds": ({"path": "a.b", "op": "exists"}, {"a": {"b": None}}, True),
    "by attribute": ({"path": "a.b", "op": "eq", "value": 2}, {"a": SimpleNamespace(b=2)}, True),
    "eq of a missing path": ({"path": "a.b", "op": "eq", "value": None}, {"a": {}}, False),
    "neq of a missing path": ({"path": "a.b", "op": "neq", "value": 1}, {}, False),
    "in of a missing path": ({"path": "a", "op": "in", "value": [None]}, {}, False),
    "exists of a missing path": ({"path": "a.b", "op": "exists"}, {"a": 1}, False),
}


@pytest.mark.parametrize(("rule", "facts", "holds"), RULES.values(), ids=RULES.keys())
async def test_a_rule_about_the_state_is_held_to(rule: Any, facts: Any, holds: bool) -> None:
    assert await admits({"state": rule}, facts) is holds
    assert await admits([{"state": rule}], facts) is holds


MALFORMED: list[Any] = [
    {"state": {"path": "a", "op": "gt", "value": 1}},
    {"state": {"path": "a", "op": ["eq"], "value": 1}},
    {"state": {"path": "a", "value": 1}},
    {"state": {"op": "eq", "value": 1}},
    {"state": {"path": "", "op": "exists"}},
    {"state": {"path": "a..b", "op": "exists"}},
    {"state": {"path": ["a"], "op": "exists"}},
    {"state": {"path": "a", "op": "eq"}},
    {"state": {"path": "a", "op": "in", "value": "abc"}},
    {"state": "a == 1"},
    {"state": {}},
    {"state": None},
    {"tool": "not a name"},
    {"tool": None},
    {"tols": "lookup"},
    {},
    7,
    True,
    [None],
    [["lookup"]],
]


@pytest.mark.parametrize("predicate", MALFORMED, ids=str)
async def test_a_malformed_predicate_blocks_whatever_the_state_holds(predicate: Any) -> None:
    assert not await admits(predicate, after("lookup", a=1))


@pytest.mark.parametrize("predicate", ["lookup", {"state": {"path": "a", "op": "exists"}}], ids=str)
async def test_d22_a_state_that_cannot_be_read_blocks(predicate: Any) -> None:
    assert not await admits(predicate, failing(RuntimeError("no state")))


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot compare")

    __hash__ = None  # type: ignore[assignment]  # as Python does for a class with __eq__


class Unreadable:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("cannot read")


@pytest.mark.parametrize("facts", [{"a": Incomparable()}, Unreadable()], ids=["comparison", "path"])
async def test_an_evaluator_that_raises_blocks(facts: Any) -> None:
    assert not await admits({"state": {"path": "a", "op": "eq", "value": 1}}, facts)


@pytest.mark.parametrize(
    "state",
    [None, {}, {"messages": None}, {"messages": 5}, Unreadable()],
    ids=["none", "empty", "no messages", "a number", "raising"],
)
async def test_a_state_without_readable_messages_has_called_nothing(state: Any) -> None:
    assert not await admits("lookup", lambda: state)


@pytest.mark.parametrize(
    "error", [ConnectionError("store down"), TimeoutError("store down"), RuntimeError("store down")]
)
async def test_d22_skills_that_cannot_be_reached_admit_undecided_with_the_reason(error: Exception) -> None:
    async def unreachable() -> Any:
        raise error

    gate = SkillPrecondition(unreachable, dict)
    report = await ToolExecutor(preconditions=PreconditionSet([gate])).execute([call("act", value=1)], {"act": echo})
    assert report.outcomes[0].value == 1
    assert report.trace[0].action == "undecided"
    assert "store down" in report.trace[0].detail


async def test_an_answer_that_holds_no_skills_blocks() -> None:
    async def nothing() -> Any:
        return None

    gate = SkillPrecondition(nothing, dict)
    report = await ToolExecutor(preconditions=PreconditionSet([gate])).execute([call("act", value=1)], {"act": echo})
    assert report.outcomes[0].reason == "check_failed"


async def test_skills_are_asked_for_each_call_and_the_state_is_read_at_judgement() -> None:
    asked: list[int] = []
    state: dict[str, Any] = after()

    async def found() -> Any:
        asked.append(1)
        return [skill("lookup")]

    executor = ToolExecutor(preconditions=PreconditionSet([SkillPrecondition(found, lambda: state)]))
    first = await executor.execute([call("act", value=1), call("act", value=2)], {"act": echo})
    state = after("lookup")
    second = await executor.execute([call("act", value=3)], {"act": echo})
    assert [outcome.is_error for outcome in (*first.outcomes, *second.outcomes)] == [True, True, False]
    assert len(asked) == 3


CALLED = {
    "a result that names the tool": ([answers(name="lookup")], {"lookup"}),
    "a result by role": ([{"role": "tool", "name": "lookup"}], {"lookup"}),
    "a result that answers a call of it": ([asks(("1", "lookup")), answers("1")], {"lookup"}),
    "a call in the openai form": (
        [
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "lookup", "arguments": "{}"}}]},
            answers("1"),
        ],
        {"lookup"},
    ),
    "a call without a result": ([asks(("1", "lookup"))], set()),
    "a failed result by status": ([answers(name="lookup", status="error")], set()),
    "a failed result by flag": ([answers(name="lookup", is_error=True)], set()),
    "a failed result, then a good one": ([answers(name="lookup", status="error"), answers(name="lookup")], {"lookup"}),
    "a message of another type that names it": ([{"type": "human", "name": "lookup"}], set()),
    "a result of another call": ([asks(("1", "lookup"), ("2", "search")), answers("2")], {"search"}),
    "a blank id": ([asks(("", "lookup")), answers("")], set()),
    "an id that one message gave twice": ([asks(("1", "lookup"), ("1", "search")), answers("1")], set()),
    "an id that a later message gave again": (
        [asks(("1", "lookup")), answers("1"), asks(("1", "search")), answers("1")],
        {"lookup", "search"},
    ),
    "an id before it was given": ([answers("1"), asks(("1", "lookup"))], set()),
    "an id that is no text": ([{"type": "tool", "tool_call_id": ["1"]}], set()),
}


@pytest.mark.parametrize(("messages", "names"), CALLED.values(), ids=CALLED.keys())
def test_a_tool_counts_as_called_by_a_good_result_of_it(messages: list[Any], names: set[str]) -> None:
    assert called_tools({"messages": messages}) == names


async def test_the_state_may_be_handed_over_by_a_coroutine() -> None:
    async def found() -> Any:
        return [skill("lookup")]

    async def state() -> Any:
        return after("lookup")

    assert await SkillPrecondition(found, state).check(ToolCall("c", "act")) is None
