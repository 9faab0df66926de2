"""Which kind of agent somebody brought. Told by the names of its types' modules: imports no framework to find out."""

from __future__ import annotations

import importlib
from typing import Any

from symfonic_ray.adapters.foreign_error import ForeignAgentError, kind_of

KINDS: dict[str, tuple[str, str]] = {
    "langgraph": ("symfonic_ray.adapters.langgraph_child", "LangGraphChild"),
    "langchain": ("symfonic_ray.adapters.langchain_child", "LangChainChild"),
    "openai-agents": ("symfonic_ray.adapters.openai_agents_child", "OpenAIAgentsChild"),
    "pydantic-ai": ("symfonic_ray.adapters.pydantic_ai_child", "PydanticAIChild"),
    "symfonic": ("symfonic_ray.adapters.symfonic_child", "SymfonicChild"),
    "a2a": ("symfonic_ray.adapters.a2a_child", "A2AChild"),
    "function": ("symfonic_ray.adapters.function_child", "FunctionChild"),
}
"""Where each kind's child is."""
_MARKS = (
    ("langgraph", "langgraph.pregel", "Pregel"),
    ("langchain", "langchain_core.runnables", "Runnable"),
    ("openai-agents", "agents.agent", "Agent"),
    ("pydantic-ai", "pydantic_ai.agent", "AbstractAgent"),
    ("symfonic", "symfonic.agent", "SymfonicAgent"),
)
"""Kind, where its type is defined, and what it is called; the first that fits stands."""


def child_from(agent: Any, *, kind: str | None = None, **options: Any) -> Any:
    """``agent`` as a child; return it from the ``build`` of a ``ScopedChild``.

    Args:
        agent: a compiled LangGraph graph, a LangChain runnable, an agent of the OpenAI Agents SDK, of Pydantic AI or
            of symfonic-core, a sync or async function, or the address of a remote A2A agent. An object of no such kind
            that has a ``run`` is given back as it is.
        kind: a key of ``KINDS``; None: found out.
        options: of that kind's child, such as ``to_input``.
    Raises:
        ForeignAgentError: for an agent of no known kind, an unknown ``kind``, or options that the kind does not take.
    """
    known = ", ".join(sorted(KINDS))
    if kind is None:
        kind = "a2a" if isinstance(agent, str) and agent.startswith(("http://", "https://")) else _recognised(agent)
        if kind is None and callable(getattr(agent, "run", None)) and not isinstance(agent, type):
            if options:
                raise ForeignAgentError(kind_of(agent), f"takes no {', '.join(options)}", "it has a run of its own")
            return agent
        if kind is None and callable(agent) and not isinstance(agent, type):
            kind = "function"
        if kind is None:
            problem = "is a class" if isinstance(agent, type) else "is of no known kind"
            raise ForeignAgentError(
                kind_of(agent) if not isinstance(agent, type) else agent.__qualname__,
                problem,
                f"give an instance of one of {known}, a function, or an object with an async run(task)",
            )
    if kind not in KINDS:
        raise ForeignAgentError(kind_of(agent), f"was given the kind {kind!r}", f"give one of {known}")
    module, name = KINDS[kind]
    child = getattr(importlib.import_module(module), name)
    try:
        return child(agent, **options)
    except TypeError as error:
        if isinstance(error, ForeignAgentError) or not options:
            raise
        raise ForeignAgentError(
            kind_of(agent), f"is of kind {kind}, which says: {error}", "drop that option"
        ) from error


def _recognised(agent: Any) -> str | None:
    for base in type(agent).__mro__:
        for kind, module, name in _MARKS:
            if base.__name__ == name and (base.__module__ + ".").startswith(module + "."):
                return kind
    return None
