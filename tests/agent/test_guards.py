"""Which calls may go ahead: the lockdown, the author's checks, and budgets that belong to one run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.agent import Agent, current_messages
from symfonic_ray.delegation import ChildLockdownError, PrebuiltChild, delegated_children
from symfonic_ray.execution import (
    CallBudget,
    LoopTerminationPolicy,
    PreconditionSet,
    PreconditionVerdict,
    SkillPrecondition,
    SteeringGate,
    ToolCall,
    ToolDescriptor,
    tool,
)
from symfonic_ray.testing import ScriptedModel, asking
from symfonic_ray.testing.scripted_model import Step
from tests.agent.conversations import assert_answered, contents

PENS = ["memory_block_append", "Memory_Block_Replace", "edit_block", "UPDATE_BLOCK_now"]


class Pen:
    """A tool that writes prompts, and counts how often it did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.strokes = 0

    def invoke(self, args: Any) -> str:
        self.strokes += 1
        return "written"


@pytest.mark.parametrize("name", PENS)
async def test_a_delegated_run_is_refused_a_write_surface_at_the_call(name: str) -> None:
    pen = Pen(name)
    response = await Agent(ScriptedModel(asking((name, {})), "done"), [pen]).run("go", agent_depth=1)
    assert pen.strokes == 0
    (outcome,) = response.report.outcomes
    assert (outcome.reason, outcome.is_error) == ("blocked", True)
    assert any(record.detail.startswith("lockdown") for record in response.report.trace)
    assert_answered(response.messages)


@pytest.mark.parametrize("name", PENS)
def test_an_agent_with_a_write_surface_is_refused_as_a_child(name: str) -> None:
    child = PrebuiltChild(name="writer", description="writes", agent=Agent(ScriptedModel("x"), [Pen(name)]))
    with pytest.raises(ChildLockdownError):
        delegated_children([child], scope="acme")


async def test_a_root_may_hold_a_write_surface() -> None:
    pen = Pen("memory_block_append")
    await Agent(ScriptedModel(asking((pen.name, {})), "done"), [pen]).run("go")
    assert pen.strokes == 1


async def test_a_tool_that_takes_the_name_of_a_write_surface_later_is_refused_at_the_call() -> None:
    pen = Pen("notes")
    agent = Agent(ScriptedModel(asking(("memory_block_append", {})), "done"), [pen])
    pen.name = "memory_block_append"
    await agent.run("go", agent_depth=1)
    assert pen.strokes == 0


@tool(max_calls_per_invocation=1)
def once() -> str:
    """May be called once in a run."""
    return "ran"


PATIENT = LoopTerminationPolicy(signature_threshold=9)


def only_once(runs: int) -> ScriptedModel:
    one_run: list[Step] = [asking(("once", {})), asking(("once", {}), ("once", {})), "done"]
    return ScriptedModel(*one_run * runs)


async def test_a_budget_is_one_run_s_own() -> None:
    agent = Agent(only_once(2), [once], termination=PATIENT)
    for _ in range(2):
        response = await agent.run("go")
        assert [outcome.reason for outcome in response.report.outcomes] == ["", "blocked", "blocked"]
        assert_answered(response.messages)


async def test_runs_at_the_same_time_have_budgets_of_their_own() -> None:
    class Asks:
        def bind_tools(self, tools: Any) -> Asks:
            return self

        async def ainvoke(self, messages: list[Any]) -> Any:
            await asyncio.sleep(0.01)
            return asking(("once", {})) if len(messages) == 1 else "done"

    agent = Agent(Asks(), [once])
    responses = await asyncio.gather(agent.run("a"), agent.run("b"), agent.run("c"))
    assert [response.report.outcomes[0].reason for response in responses] == ["", "", ""]


class Forbid:
    name = "forbid"

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[ToolCall] = []

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        self.asked.append(call)
        if call.name in self.names:
            return PreconditionVerdict.block(content=f"{call.name} is forbidden", reason="house rule")
        return None


@pytest.mark.parametrize("as_set", [False, True], ids=["a list of checks", "a set"])
async def test_the_author_s_checks_are_asked_and_a_refused_call_keeps_its_place(as_set: bool) -> None:
    check = Forbid("b")
    checks: Any = PreconditionSet([check]) if as_set else [check]
    tools = [SimpleNamespace(name=name, invoke=lambda args, name=name: f"{name} ran") for name in "abc"]
    model = ScriptedModel(asking(("a", {}), ("b", {}), ("c", {})), "done")
    response = await Agent(model, tools, preconditions=checks).run("go")
    assert contents(response.messages) == ["a ran", "b is forbidden", "c ran"]
    assert_answered(response.messages)


async def test_a_call_that_a_check_refuses_uses_up_nothing() -> None:
    class First:
        name = "first"

        def __init__(self) -> None:
            self.left = 1

        async def check(self, call: ToolCall) -> PreconditionVerdict | None:
            self.left -= 1
            return PreconditionVerdict.block("not yet", "first") if self.left >= 0 else None

    response = await Agent(only_once(1), [once], preconditions=[First()]).run("go")
    assert [outcome.content for outcome in response.report.outcomes[:2]] == ["not yet", "ran"]


async def test_a_call_over_one_run_s_budget_uses_up_nothing_of_the_author_s_own() -> None:
    author_s = CallBudget({"once": ToolDescriptor("once", max_calls_per_invocation=2)})
    agent = Agent(only_once(2), [once], preconditions=[author_s], termination=PATIENT)
    for _ in range(2):
        response = await agent.run("go")
        assert [outcome.reason for outcome in response.report.outcomes] == ["", "blocked", "blocked"]


async def test_a_call_that_a_guard_answers_uses_up_nothing() -> None:
    answers = iter([{"action": "skip", "content": "later"}, None, None])
    agent = Agent(only_once(1), [once], steering=SteeringGate(lambda call: next(answers)))
    response = await agent.run("go")
    assert [outcome.reason for outcome in response.report.outcomes] == ["steered", "", "blocked"]


async def test_a_check_may_read_the_conversation_in_flight() -> None:
    skill = SimpleNamespace(metadata={"action_tool": "publish", "precondition": "review"})

    async def skills() -> list[Any]:
        return [skill]

    gate = SkillPrecondition(skills, lambda: {"messages": current_messages()})
    tools = [SimpleNamespace(name=name, invoke=lambda args, name=name: f"{name} ran") for name in ("review", "publish")]
    model = ScriptedModel(asking(("publish", {})), asking(("review", {})), asking(("publish", {})), "done")
    response = await Agent(model, tools, preconditions=[gate]).run("go")
    assert [outcome.reason for outcome in response.report.outcomes] == ["blocked", "", ""]
    assert current_messages() == ()
