"""Pydantic AI agents as children, with the real library and a stub of the provider."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from symfonic_ray.adapters.child_from import child_from
from symfonic_ray.adapters.foreign_child import ChildRun
from symfonic_ray.adapters.foreign_error import ForeignAgentError
from symfonic_ray.delegation import ChildLockdownError, DelegationContext, assert_no_write_surface, palette_names
from tests.adapters.conftest import KEY
from tests.adapters.stub_server import USAGE, StubServer, Turn


@pytest.fixture
async def model(stub: StubServer) -> AsyncIterator[OpenAIChatModel]:
    async with AsyncOpenAI(base_url=stub.base_url, api_key=KEY) as client:
        yield OpenAIChatModel("stub", provider=OpenAIProvider(openai_client=client))


async def test_an_agent_calls_its_tools_which_find_the_run(stub: StubServer, model: OpenAIChatModel) -> None:
    seen: list[ChildRun] = []
    agent = Agent(model, deps_type=ChildRun)

    @agent.tool
    def weigh(context: RunContext[ChildRun], thing: str) -> str:
        """Weigh a thing."""
        seen.append(context.deps)
        return f"{thing} weighs 3 kg"

    stub.turns = [Turn(calls=[("c1", "weigh", '{"thing": "an ox"}')]), Turn(text="3 kg")]
    child = child_from(agent)
    async with DelegationContext().run_scope(depth=1):
        said = await child.run("how heavy?", scope="acme", run_id="r1", root_run_id="r0", parent_run_id="r0")
    assert said.final_response == "3 kg"
    assert said.usage["total_tokens"] == 2 * USAGE["total_tokens"]
    assert seen == [ChildRun(scope="acme", run_id="r1", root_run_id="r0", parent_run_id="r0", agent_depth=1)]
    assert stub.requests[1]["messages"][-1]["content"] == "an ox weighs 3 kg"


async def test_dependencies_of_another_type_have_to_be_given(model: OpenAIChatModel) -> None:
    agent = Agent(model, deps_type=int)
    with pytest.raises(ForeignAgentError, match="wants dependencies of type int; say what they are for a run"):
        child_from(agent)
    assert (await child_from(agent, deps=lambda run: 7).run("hi")).final_response == "hello"


async def test_the_lockdown_reads_the_tools(model: OpenAIChatModel) -> None:
    agent = Agent(model)

    @agent.tool_plain
    def memory_block_append(text: str) -> str:
        """Write a prompt."""
        return text

    child = child_from(agent)
    assert palette_names(child) == ("memory_block_append",)
    with pytest.raises(ChildLockdownError, match="memory_block_append"):
        assert_no_write_surface("it", child)
