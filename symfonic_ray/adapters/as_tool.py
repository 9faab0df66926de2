"""A fleet as a tool of another framework: its model hands work on by ``run_agent``. Imports a framework when asked.

A child's words reach that model as untrusted data, as they reach the model of an ``Agent`` of ours.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from symfonic_ray.agent.untrusted import wrapped
from symfonic_ray.delegation.fleet import Fleet
from symfonic_ray.delegation.names import RUN_AGENT
from symfonic_ray.delegation.values import DelegationOutcome

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The agent's name, exactly as listed."},
        "task": {"type": "string", "description": "All that the agent needs to know."},
    },
    "required": ["name", "task"],
    "additionalProperties": False,
}
_FROM_THE_CHILD = (DelegationOutcome.DELIVERED, DelegationOutcome.CHILD_FAILED)

RunAgent = Callable[[str, str], Awaitable[str]]


def as_tool(fleet: Fleet, framework: str) -> Any:
    """The tool ``run_agent`` of ``fleet``, as ``framework`` wants its tools.

    Args:
        fleet: a scope's fleet, held as long as the tool is used. The listing in the tool's description is that of now.
        framework: ``langchain`` (LangGraph too), ``openai-agents`` or ``pydantic-ai``.
    Raises:
        ValueError: for another framework.
        ImportError: when the framework is not installed.
    """
    make = _MAKERS.get(framework)
    if make is None:
        raise ValueError(f"no tool is made for the framework {framework!r}; name one of {', '.join(_MAKERS)}")

    async def run_agent(name: str, task: str) -> str:
        record = await fleet.delegate(name, task)
        return wrapped(record) if record.outcome in _FROM_THE_CHILD else record.message

    (described,) = (spec.description for spec in fleet.delegation.tool_specs() if spec.name == RUN_AGENT)
    return make(run_agent, described)


def _langchain(run_agent: RunAgent, description: str) -> Any:
    from langchain_core.tools import StructuredTool

    return StructuredTool(name=RUN_AGENT, description=description, args_schema=SCHEMA, func=None, coroutine=run_agent)


def _openai_agents(run_agent: RunAgent, description: str) -> Any:
    from agents import FunctionTool

    async def invoked(context: Any, arguments: str) -> str:
        try:
            given = json.loads(arguments)
            name, task = given["name"], given["task"]
        except (ValueError, TypeError, KeyError) as error:
            return f"{RUN_AGENT} needs an object with name and task; these arguments are none ({error})"
        return await run_agent(name, task)

    return FunctionTool(name=RUN_AGENT, description=description, params_json_schema=SCHEMA, on_invoke_tool=invoked)


def _pydantic_ai(run_agent: RunAgent, description: str) -> Any:
    from pydantic_ai import Tool

    return Tool.from_schema(run_agent, RUN_AGENT, description, SCHEMA)


_MAKERS: dict[str, Callable[[RunAgent, str], Any]] = {
    "langchain": _langchain,
    "openai-agents": _openai_agents,
    "pydantic-ai": _pydantic_ai,
}
