"""The loop: turns, answers, and the closed set of reasons why it stops."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from symfonic_ray.agent import STOP_REASONS, Agent
from symfonic_ray.execution import LoopTerminationPolicy, RetrySchedule, SteeringGate, ToolCall
from symfonic_ray.testing import ScriptedModel, ScriptedReply, asking
from tests.agent.conversations import assert_answered, assert_sendable, contents


async def echo(value: Any) -> Any:
    """Give the value back."""
    return value


def poll(job: int) -> str:
    """Ask how a job is doing."""
    return f"job {job} is running"


def polls(times: int, *, same: bool = True) -> list[ScriptedReply]:
    return [asking(("poll", {"job": 1 if same else turn})) for turn in range(times)]


async def test_an_answer_ends_the_run() -> None:
    model = ScriptedModel("  Paris. \n")
    response = await Agent(model, system_prompt="Be brief.").run("The capital of France?")
    assert response.final_response == "Paris."
    assert response.stop_reason == "answered"
    assert response.error == ""
    assert model.sent == [
        ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "The capital of France?"})
    ]


async def test_without_a_system_prompt_the_query_stands_first() -> None:
    model = ScriptedModel("yes")
    await Agent(model).run("ready?")
    assert model.sent == [({"role": "user", "content": "ready?"},)]


async def test_results_of_tools_are_sent_in_call_order_before_the_next_turn() -> None:
    async def late(value: str) -> str:
        await asyncio.sleep(0.05)
        return value

    model = ScriptedModel(asking(("late", {"value": "a"}), ("echo", {"value": "b"}), text="One moment."), "done")
    response = await Agent(model, [late, echo]).run("go")
    assert contents(response.messages) == ["a", "b"]
    assert [message["content"] for message in model.sent[1]] == ["go", "One moment.", "a", "b"]
    assert_answered(response.messages)
    assert_sendable(model.sent[1])


async def test_calls_of_one_turn_run_side_by_side() -> None:
    met = asyncio.Barrier(2)

    async def meet() -> str:
        async with asyncio.timeout(5):
            await met.wait()
        return "met"

    model = ScriptedModel(asking(("meet", {}), ("meet", {})), "done")
    response = await Agent(model, [meet]).run("go")
    assert contents(response.messages) == ["met", "met"]


@pytest.mark.parametrize("said", ["", " \n", None], ids=["nothing", "blanks", "no content"])
async def test_a_model_that_says_nothing_gives_no_final_response(said: str | None) -> None:
    response = await Agent(ScriptedModel(lambda _: {"content": said})).run("go")
    assert (response.stop_reason, response.final_response) == ("no_final_response", "")
    assert "no_final_response" in response.error


async def test_a_falsy_text_is_an_answer() -> None:
    assert (await Agent(ScriptedModel("0")).run("go")).final_response == "0"


SPREAD = [asking(("poll", {"job": 1})) if turn % 6 == 0 else asking(("echo", {"value": turn})) for turn in range(13)]
CYCLE = [asking((name, {"value": 0})) for name in ("read", "edit", "test")] * 4


@pytest.mark.parametrize(
    ("script", "policy", "reason", "turns"),
    [
        ([*polls(2), "done"], LoopTerminationPolicy(), "answered", 3),
        ([*polls(9), "done"], LoopTerminationPolicy(), "repeated_signature", 3),
        ([*CYCLE, "done"], LoopTerminationPolicy(), "repeated_signature", 7),
        ([*SPREAD, "done"], LoopTerminationPolicy(), "answered", 14),
        ([*polls(20), "done"], LoopTerminationPolicy(signature_threshold=50), "answered", 21),
        ([*polls(10, same=False), "done"], LoopTerminationPolicy(), "answered", 11),
        ([*polls(10, same=False), "done"], LoopTerminationPolicy(name_only_threshold=4), "repeated_name", 4),
    ],
    ids=[
        "two equal calls go on",
        "three equal calls stop",
        "a three-step cycle stops at the third of one kind",
        "three equal calls spread over more than ten go on",
        "twenty polls under a threshold of fifty go on",
        "one name with ten arguments goes on",
        "the same stops at the fourth where names count",
    ],
)
async def test_a_model_that_repeats_itself_is_stopped(
    script: list[Any], policy: LoopTerminationPolicy, reason: str, turns: int
) -> None:
    model = ScriptedModel(*script)
    tools = {name: named(name) for name in ("read", "edit", "test")}
    agent = Agent(model, [poll, echo, *tools.values()], termination=policy, max_hops=40)
    response = await agent.run("go")
    assert (response.stop_reason, len(model.sent)) == (reason, turns)
    assert_answered(response.messages)
    if reason != "answered":
        assert response.final_response == ""
        assert response.messages[-1].role == "tool"
        assert response.messages[-1].name in response.error


def named(name: str) -> Any:
    def work(value: int) -> str:
        return f"{name} {value}"

    work.__name__ = name
    return work


async def test_a_model_that_never_answers_is_stopped_at_its_last_turn_with_every_call_answered() -> None:
    model = ScriptedModel(*polls(9, same=False))
    response = await Agent(model, [poll], max_hops=4).run("go")
    assert (response.stop_reason, len(model.sent)) == ("max_hops", 4)
    assert contents(response.messages)[-1] == "job 3 is running"
    assert "4" in response.error
    assert_answered(response.messages)


async def test_every_stop_reason_is_of_the_closed_set() -> None:
    assert (
        frozenset({"answered", "no_final_response", "repeated_signature", "repeated_name", "max_hops"}) == STOP_REASONS
    )


@pytest.mark.parametrize("turns", [0, -1])
def test_a_run_needs_at_least_one_turn(turns: int) -> None:
    with pytest.raises(ValueError, match="max_hops"):
        Agent(ScriptedModel("x"), max_hops=turns)


async def test_a_call_of_an_unknown_tool_is_answered_and_the_run_goes_on() -> None:
    model = ScriptedModel(asking(("search the web", {"q": "x"}), ("echo", {"value": 1})), "done")
    response = await Agent(model, [echo]).run("go")
    assert [outcome.reason for outcome in response.report.outcomes] == ["unknown_tool", ""]
    assert response.final_response == "done"
    assert_sendable(model.sent[1])


@pytest.mark.parametrize("text", ['{"value": 1', "[1]", "value=1", '{"value": NaN}', '{"a": 1, "a": 2}'])
async def test_unreadable_arguments_are_answered_and_never_run(text: str) -> None:
    model = ScriptedModel(ScriptedReply(tool_calls=(ToolCall("c1", "echo", text),)), "done")
    response = await Agent(model, [echo]).run("go")
    (outcome,) = response.report.outcomes
    assert (outcome.reason, outcome.attempts) == ("bad_arguments", 0)
    assert response.messages[2].is_error
    assert_sendable(model.sent[1])
    assert text in model.sent[1][1]["tool_calls"][0]["function"]["arguments"].replace('\\"', '"')


async def test_a_tool_that_fails_is_answered_as_an_error() -> None:
    def broken() -> None:
        raise OSError("the disk is full")

    response = await Agent(ScriptedModel(asking(("broken", {})), "so be it"), [broken]).run("go")
    assert response.messages[2].is_error
    assert "the disk is full" in response.messages[2].content
    assert response.final_response == "so be it"


async def test_the_retries_are_the_executor_s() -> None:
    tries: list[int] = []

    async def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise TimeoutError("busy")
        return "there"

    agent = Agent(ScriptedModel(asking(("flaky", {})), "done"), [flaky], retries=RetrySchedule(max_attempts=3))
    response = await agent.run("go")
    assert response.report.outcomes[0].attempts == 3


async def test_a_guard_answers_in_the_tool_s_place() -> None:
    gate = SteeringGate(lambda call: {"action": "skip", "content": f"no {call.name} today"})
    response = await Agent(ScriptedModel(asking(("echo", {"value": 1})), "done"), [echo], steering=gate).run("go")
    assert contents(response.messages) == ["no echo today"]
    assert response.report.outcomes[0].attempts == 0


async def test_a_dispatcher_is_handed_the_batch() -> None:
    class Nowhere:
        def __init__(self) -> None:
            self.names: list[str] = []

        async def dispatch(self, admitted: Any, *, retries: Any, emit: Any) -> list[Any]:
            self.names += [one.call.name for one in admitted]
            return [None] * len(admitted)

    dispatcher = Nowhere()
    agent = Agent(ScriptedModel(asking(("echo", {"value": 1})), "done"), [echo], dispatcher=dispatcher)
    response = await agent.run("go")
    assert dispatcher.names == ["echo"]
    assert response.report.outcomes[0].reason == "dispatch_failed"
    assert_answered(response.messages)


async def test_a_model_that_raises_ends_the_run_with_its_own_error() -> None:
    with pytest.raises(PermissionError, match="no credit"):
        await Agent(ScriptedModel(PermissionError("no credit"))).run("go")


async def test_the_model_s_tokens_are_summed_over_its_turns() -> None:
    model = ScriptedModel(
        asking(("echo", {"value": 1}), input_tokens=10, output_tokens=2),
        ScriptedReply(content="done", input_tokens=15, output_tokens=3),
    )
    response = await Agent(model, [echo]).run("go")
    spent = {"input_tokens": 25, "output_tokens": 5, "total_tokens": 30}
    assert response.usage == {**spent, "own": spent}


async def test_the_report_tells_the_model_the_binding_and_each_hop() -> None:
    model = ScriptedModel(asking(("echo", {"value": 1})), asking(("echo", {"value": 2})), "done")
    response = await Agent(model, [echo]).run("go")
    report = response.report
    assert (report.model, report.binding, len(report.hops)) == ("scripted", "bound", 2)
    assert [outcome.value for outcome in report.outcomes] == [1, 2]
    assert {record.phase for record in report.trace} == {"dispatch"}


class Speaker:
    """A model that takes no tools."""

    async def ainvoke(self, messages: list[Any]) -> str:
        return f"{len(messages)} messages"


async def test_a_model_without_bind_tools_answers_without_tools_and_the_report_says_so() -> None:
    response = await Agent(Speaker(), [echo]).run("go")
    assert (response.final_response, response.report.binding) == ("1 messages", "no_bind_tools")
    assert response.report.model == "Speaker"


async def test_runs_of_one_agent_do_not_mix() -> None:
    async def ainvoke(messages: list[Any]) -> str:
        await asyncio.sleep(0.01)
        return str(messages[-1]["content"])

    model = Speaker()
    model.ainvoke = ainvoke  # type: ignore[method-assign]
    agent = Agent(model)
    responses = await asyncio.gather(*(agent.run(f"task {number}") for number in range(20)))
    assert [response.final_response for response in responses] == [f"task {number}" for number in range(20)]
    assert len({response.run_id for response in responses}) == 20


async def test_a_run_keeps_the_ids_it_is_given_and_makes_what_is_missing() -> None:
    agent = Agent(ScriptedModel("yes"))
    told = await agent.run("go", run_id="r2", root_run_id="r0", parent_run_id="r1", agent_depth=2, scope="acme")
    assert (told.run_id, told.root_run_id, told.parent_run_id) == ("r2", "r0", "r1")
    root = await agent.run("go")
    assert root.run_id
    assert (root.root_run_id, root.parent_run_id) == (root.run_id, None)
