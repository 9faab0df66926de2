"""Agents of the OpenAI Agents SDK as children, with the real library and a stub of the provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, RunContextWrapper, function_tool
from openai import AsyncOpenAI

from symfonic_ray.adapters.child_from import child_from
from symfonic_ray.adapters.foreign_child import ChildRun
from symfonic_ray.delegation import ChildLockdownError, DelegationContext, assert_no_write_surface, palette_names
from tests.adapters.stub_server import USAGE, StubServer, Turn


@pytest.fixture(autouse=True)
def no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")  # the SDK would send traces to its maker


@pytest.fixture
async def model(stub: StubServer) -> AsyncIterator[OpenAIChatCompletionsModel]:
    async with AsyncOpenAI(base_url=stub.base_url) as client:
        yield OpenAIChatCompletionsModel("stub", client)


async def test_an_agent_calls_its_tools_which_find_the_run(stub: StubServer, model: OpenAIChatCompletionsModel) -> None:
    seen: list[ChildRun] = []

    @function_tool
    def weigh(context: RunContextWrapper[ChildRun], thing: str) -> str:
        """Weigh a thing."""
        seen.append(context.context)
        return f"{thing} weighs 3 kg"

    stub.turns = [Turn(calls=[("c1", "weigh", '{"thing": "an ox"}')]), Turn(text="3 kg")]
    child = child_from(Agent[ChildRun](name="scales", model=model, tools=[weigh]))
    async with DelegationContext().run_scope(depth=1):
        said = await child.run("how heavy?", scope="acme", run_id="r1", root_run_id="r0", parent_run_id="r0")
    assert said.final_response == "3 kg"
    assert said.usage["total_tokens"] == 2 * USAGE["total_tokens"]
    assert seen == [ChildRun(scope="acme", run_id="r1", root_run_id="r0", parent_run_id="r0", agent_depth=1)]
    assert stub.requests[1]["messages"][-1]["content"] == "an ox weighs 3 kg"


@function_tool
def memory_block_append(text: str) -> str:
    """Write a prompt."""
    return text


async def test_the_lockdown_reads_the_tools_of_agents_that_work_is_handed_over_to(
    model: OpenAIChatCompletionsModel,
) -> None:
    writer: Agent[Any] = Agent(name="writer", model=model, tools=[memory_block_append])
    first: Agent[Any] = Agent(name="first", model=model, handoffs=[writer])
    writer.handoffs.append(first)
    child = child_from(first)
    assert palette_names(child) == ("memory_block_append",)
    with pytest.raises(ChildLockdownError, match="memory_block_append"):
        assert_no_write_surface("it", child)
