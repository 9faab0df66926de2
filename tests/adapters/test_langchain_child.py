"""LangChain runnables and LangGraph graphs as children, with the real libraries and a stub of the provider."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from symfonic_ray.adapters.child_from import child_from
from symfonic_ray.adapters.foreign_child import ChildRun
from symfonic_ray.adapters.foreign_error import ForeignAgentError
from symfonic_ray.adapters.langchain_child import RUN_KEY
from symfonic_ray.delegation import (
    ChildLockdownError,
    DelegationContext,
    DelegationRecord,
    ScopedChild,
    assert_no_write_surface,
    delegated_children,
    palette_names,
)
from tests.adapters.stub_server import USAGE, StubServer, Turn

COUNTED = {
    "input_tokens": USAGE["prompt_tokens"],
    "output_tokens": USAGE["completion_tokens"],
    "total_tokens": USAGE["total_tokens"],
}


@tool
def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing} weighs 3 kg"


@tool
def memory_block_append(text: str) -> str:
    """Write a prompt."""
    return text


class Question(TypedDict):
    question: str


class Worked(TypedDict):
    question: str
    answer: str


def model(server: StubServer) -> ChatOpenAI:
    return ChatOpenAI(model="stub", base_url=server.base_url)


def agent_graph(server: StubServer, *tools: Any, checkpointer: Any = None) -> Any:
    """A model that may call tools until it answers."""
    speaker = model(server).bind_tools(tools)

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await speaker.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_node("tools", ToolNode(list(tools)))
    graph.add_edge(START, "speak")
    graph.add_conditional_edges("speak", tools_condition)
    graph.add_edge("tools", "speak")
    return graph.compile(checkpointer=checkpointer)


def one_node(node: Any, state: Any = MessagesState, **options: Any) -> Any:
    graph = StateGraph(state, **options)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=InMemorySaver())


async def answered(agent: Any, task: str = "how heavy is an ox?", **options: Any) -> DelegationRecord:
    """The record of one hand-off to ``agent``."""
    declared = ScopedChild(name="it", description="answers", build=lambda _: child_from(agent, **options))
    async with delegated_children([declared], scope="acme") as team:
        return await team.tools.delegate("it", task)


async def test_a_chain_answers_and_tells_its_tokens(stub: StubServer) -> None:
    chain = ChatPromptTemplate.from_template("In short: {question}") | model(stub) | StrOutputParser()
    record = await answered(chain)
    assert (record.message, record.usage) == ("hello", COUNTED)
    assert stub.requests[0]["messages"][0]["content"] == "In short: how heavy is an ox?"


async def test_a_chat_model_alone_is_a_child(stub: StubServer) -> None:
    assert (await answered(model(stub))).message == "hello"


async def test_a_graph_calls_its_tools_and_its_tokens_are_summed(stub: StubServer) -> None:
    stub.turns = [Turn(calls=[("c1", "weigh", '{"thing": "an ox"}')]), Turn(text="3 kg")]
    record = await answered(agent_graph(stub, weigh))
    assert record.message == "3 kg"
    assert record.usage == {name: 2 * count for name, count in COUNTED.items()}
    assert stub.requests[1]["messages"][-1]["content"] == "an ox weighs 3 kg"


async def test_a_graph_finds_its_run_in_config_and_context() -> None:
    seen: list[ChildRun] = []
    told: list[Any] = []

    async def look(state: MessagesState, config: RunnableConfig, runtime: Runtime[ChildRun]) -> dict[str, Any]:
        seen.extend([config["configurable"][RUN_KEY], runtime.context])
        told.extend([config["configurable"]["thread_id"], config["metadata"]["symfonic_run_id"]])
        return {"messages": [AIMessage("looked")]}

    child = child_from(one_node(look, context_schema=ChildRun))
    async with DelegationContext().run_scope(depth=2):
        await child.run("look", scope="acme", run_id="r2", root_run_id="r0", parent_run_id="r1")
    run = ChildRun(scope="acme", run_id="r2", root_run_id="r0", parent_run_id="r1", agent_depth=2)
    assert (seen, told) == ([run, run], ["r2", "r2"])


async def test_two_runs_of_a_graph_with_a_checkpointer_share_nothing(stub: StubServer) -> None:
    graph = agent_graph(stub, weigh, checkpointer=InMemorySaver())
    await answered(graph, "a secret")
    await answered(graph, "something else")
    assert "a secret" not in str(stub.requests[1])


async def test_a_graph_with_one_input_field_gets_the_task_there() -> None:
    async def work(state: Worked) -> dict[str, str]:
        return {"answer": state["question"].upper()}

    assert (await answered(one_node(work, Worked, input_schema=Question), "hi")).message == "HI"


async def test_a_graph_with_several_input_fields_needs_to_be_told() -> None:
    async def work(state: Worked) -> dict[str, str]:
        return {"answer": state["question"].upper()}

    graph = one_node(work, Worked)
    with pytest.raises(ForeignAgentError, match="takes an input of the fields question, answer; say what they are"):
        child_from(graph)
    options: dict[str, Any] = {"to_input": lambda task: {"question": task}, "to_answer": lambda state: state["answer"]}
    assert (await answered(graph, "hi", **options)).message == "HI"


async def test_a_graph_that_waits_for_somebody_has_not_answered() -> None:
    async def wait(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("may I?")))]}

    record = await answered(one_node(wait))
    assert not record.outcome.delivered
    assert "waits for somebody" in record.message


async def test_cancelling_a_hand_off_cancels_the_node() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hang(state: MessagesState) -> dict[str, Any]:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return {}

    handing_off = asyncio.create_task(answered(one_node(hang)))
    await asyncio.wait_for(started.wait(), 10)
    handing_off.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handing_off
    await asyncio.wait_for(ended.wait(), 10)


async def test_what_a_runnable_raises_is_the_childs_failure() -> None:
    def fail(task: str) -> str:
        raise RuntimeError("no scales here")

    record = await answered(RunnableLambda(fail))
    assert (record.reason, "no scales here" in record.message) == ("exception", True)


def test_the_lockdown_reads_tools_in_nodes_in_subgraphs_and_bound_to_models(stub: StubServer) -> None:
    inner = agent_graph(stub, memory_block_append)
    bound = ChatPromptTemplate.from_template("{q}") | model(stub).bind_tools([memory_block_append])
    for agent in (inner, one_node(inner), bound):
        child = child_from(agent)
        assert palette_names(child) == ("memory_block_append",)
        with pytest.raises(ChildLockdownError, match="memory_block_append"):
            assert_no_write_surface("it", child)
