"""An agent as a parent, as a child, and as both."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.agent import Agent, AgentResponse
from symfonic_ray.delegation import (
    CompiledChildren,
    DelegationCapability,
    DelegationContext,
    DelegationOutcome,
    DepthPolicy,
    PrebuiltChild,
    accepted_keywords,
    delegated_children,
    serving,
)
from symfonic_ray.delegation.calling import RUN_KEYWORDS
from symfonic_ray.execution import InProcessDispatcher, descriptor_of
from symfonic_ray.kernel import current_run_identity
from symfonic_ray.testing import FakeFleet, RecordingRunner, ScriptedModel, ScriptedReply, asking
from tests.agent.conversations import assert_answered, contents


def hand_off(name: Any, task: Any = "a task") -> tuple[str, Any]:
    return "run_agent", {"name": name, "task": task}


async def reader(task: str) -> str:
    """Reads one page."""
    return f"read {task}"


async def writer(task: str) -> str:
    """Writes."""
    return f"wrote {task}"


def team(*agents: Any, names: tuple[str, ...] = ("helper", "second"), max_depth: int = 3) -> DelegationCapability:
    children = [PrebuiltChild(name=n, description=f"the {n}", agent=a) for n, a in zip(names, agents, strict=False)]
    return delegated_children(children, max_depth=max_depth, scope="acme")


async def test_a_task_is_handed_over_and_its_answer_comes_back_as_data() -> None:
    model = ScriptedModel(asking(hand_off("reader", "page 7")), "It says so.")
    fleet = FakeFleet({"reader": reader, "writer": writer})
    response = await Agent(model, fleet=fleet).run("what does page 7 say?")
    assert response.delegated_to == ("reader",)
    (answer,) = contents(response.messages)
    assert "read page 7" in answer
    assert "'reader'" in answer
    assert "data" in answer.splitlines()[0]
    assert [record.message for record in response.report.delegations] == ["read page 7"]


async def test_answers_may_be_handed_over_unwrapped() -> None:
    model = ScriptedModel(asking(hand_off("reader", "page 7")), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader}), wrap_answers=False).run("go")
    assert contents(response.messages) == ["read page 7"]


async def test_the_delegation_tools_are_offered_with_the_children_in_their_words() -> None:
    model = ScriptedModel(asking(("list_agents", {})), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader, "writer": writer})).run("go")
    assert model.offered == ["run_agent", "list_agents"]
    assert "reader: Reads one page." in contents(response.messages)[0]


async def test_without_children_there_are_no_delegation_tools() -> None:
    model = ScriptedModel("done")
    childless = DelegationCapability.of(CompiledChildren(()), DelegationContext(), DepthPolicy(3))
    await Agent(model, [reader], childless).run("go")
    assert model.offered == ["reader"]


async def test_several_hand_offs_of_one_turn_run_side_by_side() -> None:
    met = asyncio.Barrier(3)

    async def meet(task: str) -> str:
        async with asyncio.timeout(5):
            await met.wait()
        return task

    model = ScriptedModel(asking(*(hand_off("meet", str(number)) for number in range(3))), "done")
    response = await Agent(model, fleet=FakeFleet({"meet": meet})).run("go")
    assert response.delegated_to == ("meet", "meet", "meet")
    assert [str(number) in text for number, text in enumerate(contents(response.messages))] == [True] * 3


async def test_outside_a_run_an_agent_without_a_fleet_has_no_children() -> None:
    model = ScriptedModel("done")
    await Agent(model).run("go")
    assert model.offered == []


async def test_inside_a_run_an_agent_without_a_fleet_has_the_children_of_that_run() -> None:
    model = ScriptedModel(asking(hand_off("reader", "page 1")), "done")
    with serving(FakeFleet({"reader": reader})):
        response = await Agent(model).run("go", agent_depth=1)
    assert response.delegated_to == ("reader",)


GUESSES = ["wrtier", "", "../writer", "x" * 5000, ["writer"], None, {"description": "writer"}]


@pytest.mark.parametrize("name", GUESSES, ids=repr)
async def test_a_guessed_name_is_answered_with_the_children_there_are_and_the_run_goes_on(name: Any) -> None:
    model = ScriptedModel(asking(hand_off(name)), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader, "writer": writer})).run("go")
    (record,) = response.report.delegations
    assert (record.outcome, record.name) == (DelegationOutcome.UNKNOWN_CHILD, name)
    assert response.delegated_to == ()
    assert contents(response.messages) == [record.message]
    assert "reader" in record.message
    assert response.final_response == "done"


async def test_a_task_that_is_an_object_reaches_the_child_as_json_text() -> None:
    child = RecordingRunner("done")
    model = ScriptedModel(asking(hand_off("helper", {"description": "Summarise"})), "done")
    await Agent(model, fleet=team(child)).run("go")
    assert json.loads(child.calls[0].query) == {"description": "Summarise"}


@pytest.mark.parametrize("args", [{"task": "x"}, {"name": "reader"}, {}, {"name": "reader", "task": "x", "more": 1}])
async def test_a_hand_off_with_the_wrong_arguments_is_an_error_outcome(args: Any) -> None:
    model = ScriptedModel(asking(("run_agent", args)), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader})).run("go")
    assert response.report.outcomes[0].is_error
    assert response.report.delegations == ()
    assert_answered(response.messages)


NOTHING_TO_SAY = ["", " \n", None, {"final_response": None}, {}, SimpleNamespace()]


@pytest.mark.parametrize("said", NOTHING_TO_SAY, ids=repr)
async def test_a_child_that_says_nothing_is_a_failure_that_the_model_reads(said: Any) -> None:
    model = ScriptedModel(asking(hand_off("helper")), "done")
    response = await Agent(model, fleet=team(RecordingRunner(said))).run("go")
    (record,) = response.report.delegations
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "no_final_response")
    assert "no_final_response" in contents(response.messages)[0]
    assert response.delegated_to == ()


async def test_a_child_that_raises_is_a_failure_that_the_model_reads() -> None:
    async def broken(task: str) -> str:
        raise OSError("no such page")

    model = ScriptedModel(asking(hand_off("broken")), "then not")
    response = await Agent(model, fleet=FakeFleet({"broken": broken})).run("go")
    assert "no such page" in contents(response.messages)[0]
    assert response.final_response == "then not"


async def test_an_agent_is_a_child_with_the_whole_contract() -> None:
    agent = Agent(ScriptedModel("x"))
    assert accepted_keywords(agent) == RUN_KEYWORDS


async def test_an_agent_s_answer_is_read_as_a_child_s_response() -> None:
    child = Agent(ScriptedModel(ScriptedReply(content="42", input_tokens=5, output_tokens=1)))
    record = await team(child).tools.delegate("helper", "the question")
    assert (record.outcome, record.message) == (DelegationOutcome.DELIVERED, "42")
    assert record.run_id
    assert record.usage is not None
    assert record.usage["total_tokens"] == 6


async def test_a_child_that_was_stopped_fails_with_the_reason_it_was_stopped_for() -> None:
    def poll() -> str:
        return "running"

    child = Agent(ScriptedModel(asking(("poll", {}))), [poll])
    record = await team(child).tools.delegate("helper", "wait for it")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "no_final_response")
    assert "repeated_signature" in record.message
    assert "poll" in record.message


async def test_a_tree_of_agents_sums_its_usage_and_keeps_its_lineage() -> None:
    leaf = Agent(ScriptedModel(ScriptedReply(content="leaf", input_tokens=1)))
    middle_model = ScriptedModel(
        asking(hand_off("helper"), input_tokens=10), ScriptedReply(content="middle", input_tokens=10)
    )
    middle = Agent(middle_model, fleet=team(leaf))
    root_model = ScriptedModel(
        asking(hand_off("helper"), hand_off("second"), input_tokens=100),
        ScriptedReply(content="root", input_tokens=100),
    )
    root = Agent(root_model, fleet=team(middle, Agent(ScriptedModel(ScriptedReply(content="b", input_tokens=1000)))))
    response = await root.run("go", run_id="r0")
    assert response.usage["input_tokens"] == 1 + 20 + 200 + 1000
    assert response.usage["own"]["input_tokens"] == 200
    assert sorted(response.delegated_to) == ["helper", "second"]
    records = response.report.delegations
    assert {record.root_run_id for record in records} == {"r0"}
    assert {record.parent_run_id for record in records} == {"r0"}
    assert {record.depth for record in records} == {1}


async def test_what_a_failed_child_used_is_counted_too() -> None:
    child = RecordingRunner({"final_response": "", "usage": {"total_tokens": 7}})
    response = await Agent(ScriptedModel(asking(hand_off("helper")), "done"), fleet=team(child)).run("go")
    assert response.usage["total_tokens"] == 7


async def test_a_run_at_the_ceiling_is_told_so_and_answers_itself() -> None:
    child = RecordingRunner("never asked")
    model = ScriptedModel(asking(hand_off("helper")), "I did it myself")
    response = await Agent(model, fleet=team(child, max_depth=2)).run("go", agent_depth=2)
    (record,) = response.report.delegations
    assert record.outcome is DelegationOutcome.REFUSED_DEPTH
    assert child.calls == []
    assert contents(response.messages) == [record.message]
    assert "Do the work yourself" in record.message
    assert response.final_response == "I did it myself"


async def test_an_agent_that_hands_everything_to_itself_ends_at_the_ceiling() -> None:
    runs: list[int] = []

    class Deeper:
        """Asks the agent itself, then repeats what it was told."""

        def bind_tools(self, tools: Any) -> Deeper:
            return self

        async def ainvoke(self, messages: list[Any]) -> Any:
            if len(messages) > 1:
                return messages[-1]["content"]
            runs.append(1)
            return asking(hand_off("self"))

    class Late:
        async def run(self, query: str, **told: Any) -> Any:
            return await agent.run(query, **told)

    agent = Agent(Deeper(), fleet=team(Late(), names=("self",), max_depth=3), wrap_answers=False)
    response = await agent.run("go")
    assert len(runs) == 4
    assert "ceiling is 3" in response.final_response


async def test_a_hand_off_stays_in_the_process_of_the_run_whatever_the_dispatcher() -> None:
    placements: list[str] = []

    class Watching(InProcessDispatcher):
        async def dispatch(self, admitted: Any, **told: Any) -> Any:
            placements.extend(descriptor_of(one.tool, one.call.name).placement for one in admitted)
            return await super().dispatch(admitted, **told)

    model = ScriptedModel(asking(hand_off("reader"), ("list_agents", {})), "done")
    response = await Agent(model, fleet=FakeFleet({"reader": reader}), dispatcher=Watching()).run("go")
    assert placements == ["process", "process"]
    assert response.delegated_to == ("reader",)


async def test_tools_and_children_see_the_run_they_work_for() -> None:
    seen: list[Any] = []

    async def look() -> str:
        seen.append(current_run_identity())
        return "seen"

    await Agent(ScriptedModel(asking(("look", {})), "done"), [look]).run("go", run_id="r1", root_run_id="r0")
    assert (seen[0].run_id, seen[0].root_run_id) == ("r1", "r0")
    assert current_run_identity() is None


async def test_a_response_has_no_error_when_it_has_an_answer() -> None:
    assert AgentResponse(final_response="yes").error == ""
