"""Ids that a model leaves blank or repeats: every call runs, every call is answered, and the provider can pair them."""

from __future__ import annotations

from typing import Any

from symfonic_ray.agent import Agent
from symfonic_ray.execution import ToolCall, tool
from symfonic_ray.testing import FakeFleet, ScriptedModel, ScriptedReply, asking
from tests.agent.conversations import assert_answered, contents

BATCH = tuple(
    ToolCall(call_id, "echo", {"value": value})
    for call_id, value in (("", "a"), ("", "b"), ("x", "c"), ("x", "d"), (" ", "e"))
)


def echo(value: str) -> str:
    """Give the value back."""
    return value


async def test_calls_with_blank_and_repeated_ids_all_run_and_are_answered_in_call_order() -> None:
    model = ScriptedModel(ScriptedReply(tool_calls=BATCH), "done")
    response = await Agent(model, [echo]).run("go")
    assert contents(response.messages) == ["a", "b", "c", "d", "e"]
    assert_answered(response.messages)
    assert [outcome.call for outcome in response.report.outcomes] == list(BATCH)
    sent = [message["tool_call_id"] for message in model.sent[1] if message["role"] == "tool"]
    assert len(set(sent)) == 5


async def test_an_id_that_is_good_is_kept() -> None:
    response = await Agent(ScriptedModel(ScriptedReply(tool_calls=BATCH), "done"), [echo]).run("go")
    assert response.messages[1].tool_calls[2].id == "x"


async def test_ids_that_come_again_in_a_later_turn_are_told_apart() -> None:
    model = ScriptedModel(asking(("echo", {"value": "a"})), asking(("echo", {"value": "b"})), "done")
    assert_answered((await Agent(model, [echo]).run("go")).messages)


async def test_a_made_up_id_suits_the_strictest_provider() -> None:
    response = await Agent(ScriptedModel(ScriptedReply(tool_calls=BATCH), "done"), [echo]).run("go")
    made = response.messages[1].tool_calls[0].id
    assert len(made) == 9
    assert made.isalnum()


async def test_a_budget_counts_calls_by_their_place_and_answers_those_over_it() -> None:
    twice: Any = tool(name="echo", max_calls_per_invocation=2)(echo)
    response = await Agent(ScriptedModel(ScriptedReply(tool_calls=BATCH[:4]), "done"), [twice]).run("go")
    assert [outcome.reason for outcome in response.report.outcomes] == ["", "", "blocked", "blocked"]
    assert_answered(response.messages)


async def test_a_hand_off_with_a_blank_id_runs() -> None:
    async def reader(task: str) -> str:
        return f"read {task}"

    call = ToolCall("", "run_agent", {"name": "reader", "task": "page 1"})
    model = ScriptedModel(ScriptedReply(tool_calls=(call,)), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader})).run("go")
    assert response.delegated_to == ("reader",)
    assert "read page 1" in contents(response.messages)[0]
