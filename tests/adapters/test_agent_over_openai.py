"""The whole loop over a real transport: tools, delegation, streams, and what a provider may do wrong on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from symfonic_ray.adapters.errors import BrokenReplyError
from symfonic_ray.adapters.openai_model import OpenAIModel
from symfonic_ray.agent import Agent, AgentResponse, RunEnded, TextDelta
from symfonic_ray.testing import FakeFleet
from tests.adapters.stub_server import StubServer, Turn
from tests.agent.conversations import assert_answered, assert_sendable, contents


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


async def run(how: str, *tools: Any, fleet: Any = None) -> AgentResponse:
    """The response of a plain or of a streamed run."""
    async with OpenAIModel("stub") as model:
        agent = Agent(model, tools, fleet)
        if how == "plain":
            return await agent.run("go")
        events = [event async for event in agent.stream("go")]
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).endswith("done")
    return last.response


both = pytest.mark.parametrize("how", ["plain", "streamed"])


@both
async def test_parallel_calls_are_run_and_their_results_sent_back_in_order(stub: StubServer, how: str) -> None:
    calls = [("c1", "add", '{"left": 1, "right": 2}'), ("c2", "add", '{"left": 3, "right": 4}')]
    stub.turns = [Turn(text="Adding.", calls=calls), Turn(text="done")]
    response = await run(how, add)
    assert response.final_response == "done"
    second = stub.requests[1]["messages"]
    assert [message["content"] for message in second if message["role"] == "tool"] == ["3", "7"]
    assert [message["tool_call_id"] for message in second if message["role"] == "tool"] == ["c1", "c2"]
    assert stub.requests[0]["tools"][0]["function"]["parameters"]["required"] == ["left", "right"]
    assert response.usage["total_tokens"] == 20


@both
async def test_blank_and_repeated_ids_and_malformed_arguments_never_break_the_thread(
    stub: StubServer, how: str
) -> None:
    good = '{"left": 1, "right": 1}'
    calls = [("", "add", good), ("", "add", '{"left": 1'), ("x", "add", "[1]"), ("x", "no such tool", good)]
    stub.turns = [Turn(calls=calls), Turn(text="done")]
    response = await run(how, add)
    assert [outcome.reason for outcome in response.report.outcomes] == [
        "",
        "bad_arguments",
        "bad_arguments",
        "unknown_tool",
    ]
    assert_answered(response.messages)
    assert_sendable(stub.requests[1]["messages"])


@both
async def test_a_hand_off_of_two_tasks_in_one_turn_reaches_the_children(stub: StubServer, how: str) -> None:
    async def reader(task: str) -> str:
        """Reads."""
        return f"read {task}"

    tasks = [json.dumps({"name": "reader", "task": f"page {number}"}) for number in (1, 2)]
    stub.turns = [Turn(calls=[("a", "run_agent", tasks[0]), ("b", "run_agent", tasks[1])]), Turn(text="done")]
    response = await run(how, fleet=FakeFleet({"reader": reader}))
    assert response.delegated_to == ("reader", "reader")
    assert ["page 1" in contents(response.messages)[0], "page 2" in contents(response.messages)[1]] == [True, True]
    described = {tool["function"]["name"]: tool["function"] for tool in stub.requests[0]["tools"]}
    assert described["run_agent"]["parameters"]["required"] == ["name", "task"]
    assert "reader" in described["run_agent"]["description"]


@both
async def test_a_busy_provider_is_waited_for(stub: StubServer, how: str) -> None:
    stub.turns = [Turn(status=429, headers={"Retry-After": "0.05"}), Turn(text="done")]
    assert (await run(how)).final_response == "done"


async def test_calls_of_a_stream_that_is_cut_off_are_not_run(stub: StubServer) -> None:
    ran: list[int] = []

    def pay(amount: int) -> str:
        ran.append(amount)
        return "paid"

    stub.turns = [Turn(text="Paying now.", calls=[("c", "pay", '{"amount": 1}')], cut="silently")]
    async with OpenAIModel("stub") as model:
        stream = Agent(model, [pay]).stream("go")
        with pytest.raises(BrokenReplyError):
            [event async for event in stream]
    assert ran == []
    assert_answered(stream.messages)
