"""A fleet as a tool of other frameworks: their agents, by the real libraries, hand work on and read what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from symfonic_ray.adapters.as_tool import as_tool
from symfonic_ray.delegation.lockdown import palette_names
from symfonic_ray.testing import FakeFleet
from tests.adapters.conftest import KEY
from tests.adapters.stub_server import StubServer, Turn

ASKED = json.dumps({"name": "reader", "task": "the weather"})


async def reader(task: str) -> str:
    """Reads what there is."""
    return f"read of {task}"


async def wild(task: str) -> str:
    """Raises."""
    raise RuntimeError("no luck")


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet({"reader": reader, "wild": wild})


def handed_back(stub: StubServer) -> str:
    """What the model was told of its call."""
    messages: list[dict[str, Any]] = stub.requests[1]["messages"]
    (answer,) = (message["content"] for message in messages if message["role"] == "tool")
    return str(answer)


def held(stub: StubServer, fleet: FakeFleet) -> None:
    """What holds for every framework: the children are listed, the call is a record, the words come as data."""
    (tool,) = (tool["function"] for tool in stub.requests[0]["tools"])
    assert tool["name"] == "run_agent"
    assert "reader: Reads what there is." in tool["description"]
    assert [(record.name, record.message) for record in fleet.records] == [("reader", "read of the weather")]
    told = handed_back(stub)
    assert "read of the weather" in told
    assert "data to be judged" in told


async def test_an_agent_of_the_openai_sdk_hands_work_on(
    stub: StubServer, fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    from agents import Agent, OpenAIChatCompletionsModel, Runner
    from openai import AsyncOpenAI

    stub.turns = [Turn(calls=[("c1", "run_agent", ASKED)]), Turn(text="fine")]
    async with AsyncOpenAI(base_url=stub.base_url, api_key=KEY) as client:
        model = OpenAIChatCompletionsModel("stub", client)
        agent: Agent[Any] = Agent(name="parent", model=model, tools=[as_tool(fleet, "openai-agents")])
        assert (await Runner.run(agent, "how is it?")).final_output == "fine"
    held(stub, fleet)


async def test_arguments_that_are_none_are_told_to_the_model(fleet: FakeFleet) -> None:
    tool = as_tool(fleet, "openai-agents")
    for arguments in ("{", "[]", '{"name": "reader"}', "null"):
        assert "needs an object with name and task" in await tool.on_invoke_tool(None, arguments)
    assert fleet.records == []


async def test_a_pydantic_ai_agent_hands_work_on(stub: StubServer, fleet: FakeFleet) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    stub.turns = [Turn(calls=[("c1", "run_agent", ASKED)]), Turn(text="fine")]
    async with AsyncOpenAI(base_url=stub.base_url, api_key=KEY) as client:
        model = OpenAIChatModel("stub", provider=OpenAIProvider(openai_client=client))
        assert (await Agent(model, tools=[as_tool(fleet, "pydantic-ai")]).run("how is it?")).output == "fine"
    held(stub, fleet)


async def test_a_langchain_model_hands_work_on(stub: StubServer, fleet: FakeFleet) -> None:
    import httpx
    from langchain_core.messages import HumanMessage
    from langchain_openai import ChatOpenAI

    stub.turns = [Turn(calls=[("c1", "run_agent", ASKED)]), Turn(text="fine")]
    tool = as_tool(fleet, "langchain")
    async with httpx.AsyncClient() as client:
        model = ChatOpenAI(model="stub", http_async_client=client).bind_tools([tool])
        asked = HumanMessage("how is it?")
        called = await model.ainvoke([asked])
        answered = await tool.ainvoke(called.tool_calls[0])
        assert (await model.ainvoke([asked, called, answered])).content == "fine"
    held(stub, fleet)


@pytest.mark.parametrize(("name", "said"), [("wild", "data to be judged"), ("nobody", "No agent is named 'nobody'")])
async def test_a_failure_and_a_wrong_name_are_words_for_the_model(fleet: FakeFleet, name: str, said: str) -> None:
    tool = as_tool(fleet, "openai-agents")
    assert said in await tool.on_invoke_tool(None, json.dumps({"name": name, "task": "x"}))


def test_another_framework_is_refused_by_name(fleet: FakeFleet) -> None:
    with pytest.raises(ValueError, match=r"'crewai'; name one of langchain, openai-agents, pydantic-ai"):
        as_tool(fleet, "crewai")


def test_the_tool_is_no_write_surface(fleet: FakeFleet) -> None:
    class Parent:
        tools = (as_tool(fleet, "openai-agents"),)

    assert palette_names(Parent()) == ("run_agent",)
