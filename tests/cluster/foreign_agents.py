"""One agent of each framework, as its own users write it, built in a host. Each asks the server that it is told of."""

from __future__ import annotations

import os
import warnings
from typing import Any

from symfonic_ray.adapters.child_from import child_from

KEY = "sk-nothing"


def graph(base_url: str, scope: Any) -> Any:
    """A LangGraph graph of one node with a LangChain model."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph

    model = ChatOpenAI(model="stub", base_url=base_url, api_key=KEY)  # type: ignore[arg-type]  # a plain string will do

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END)
    return child_from(built.compile())


def openai_agent(base_url: str, scope: Any) -> Any:
    """An agent of the OpenAI Agents SDK."""
    os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # the SDK would send traces to its maker
    from agents import Agent, OpenAIChatCompletionsModel
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=base_url, api_key=KEY)
    return child_from(Agent(name="agent", model=OpenAIChatCompletionsModel("stub", client)))


def pydantic_agent(base_url: str, scope: Any) -> Any:
    """An agent of Pydantic AI."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return child_from(Agent(OpenAIChatModel("stub", provider=OpenAIProvider(base_url=base_url, api_key=KEY))))


def symfonic_agent(base_url: str, scope: Any) -> Any:
    """An agent of symfonic-core."""
    os.environ.setdefault("OPENAI_API_KEY", KEY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library warns of itself
        from symfonic.agent import SymfonicAgent
        from symfonic.core.providers import OpenAIProvider

        return child_from(SymfonicAgent(model_provider=OpenAIProvider(base_url=base_url)))


def function(base_url: str, scope: Any) -> Any:
    """A plain function."""

    def answer(query: str) -> str:
        return f"said of {query}"

    return child_from(answer)
