"""Which tools a model is offered and in what form. Describes tools of every make; runs none.

Schemas of plain functions need pydantic, which is imported only where there is such a function.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from symfonic_ray.delegation.names import LIST_AGENTS, RUN_AGENT
from symfonic_ray.execution import DuplicateToolError, UnnamedToolError, descriptor_of, tool
from symfonic_ray.execution.catalog import ToolDescriptor
from symfonic_ray.kernel.text import code_point

_PROVIDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


class ToolNameError(ValueError):
    """A tool under a name that no provider accepts, or that delegation keeps for itself."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem

    def __str__(self) -> str:
        return f"a tool is named {self.name[:80]!r}, which {self.problem}; give it another name"


def checked_tools(tools: Iterable[Any]) -> tuple[Any, ...]:
    """The tools of an agent, plain functions made into described ones. Any: tools are foreign.

    Raises:
        UnnamedToolError: for a tool without a name.
        ToolNameError: for a name that no provider accepts or that delegation keeps for itself.
        DuplicateToolError: where two share a name.
        NotRunnableError: for a tool in which nothing can be called.
    """
    ready: dict[str, Any] = {}
    for given in tools:
        one = tool(given) if inspect.isroutine(given) else given
        name = name_of(one)
        _check(name)
        if name in ready:
            raise DuplicateToolError(name)
        descriptor_of(one, name)
        ready[name] = one
    return tuple(ready.values())


def name_of(one: Any) -> str:
    """The name a tool is called by: ``name``, else ``__name__``. Any: tools are foreign.

    Raises:
        UnnamedToolError: where it has neither.
    """
    name = getattr(one, "name", None) or getattr(one, "__name__", None)
    if not isinstance(name, str):
        raise UnnamedToolError(type(one).__name__)
    return name


def descriptors_of(tools: Iterable[Any]) -> dict[str, ToolDescriptor]:
    """The descriptors that ``tools`` carry, plain ones for the rest, by name."""
    return {name_of(one): descriptor_of(one, name_of(one)) for one in tools}


def offered(one: Any) -> dict[str, Any]:
    """A tool in the form in which models of every make take it: that of the OpenAI API. Any: tools are foreign."""
    return {
        "type": "function",
        "function": {
            "name": name_of(one),
            "description": getattr(one, "description", None) or inspect.getdoc(one) or "",
            "parameters": dict(_schema(one)),
        },
    }


def _schema(one: Any) -> Mapping[str, Any]:
    """JSON schema of the arguments: the tool's own, or LangChain's, which leaves out what is injected."""
    for attribute in ("parameters", "tool_call_schema", "args_schema"):
        schema = getattr(one, attribute, None)
        if isinstance(schema, Mapping) and schema:
            return schema
        generate = getattr(schema, "model_json_schema", None)
        if callable(generate):
            made = generate()
            if isinstance(made, Mapping):
                return made
    return _ANYTHING


def _check(name: str) -> None:
    if name in (RUN_AGENT, LIST_AGENTS):
        raise ToolNameError(name, "is kept for delegation")
    if not _PROVIDER_NAME.fullmatch(name):
        odd = next((letter for letter in name if not _PROVIDER_NAME.fullmatch(letter)), None)
        problem = f"has {len(name)} characters" if odd is None else f"holds {code_point(odd)}"
        raise ToolNameError(name, f"{problem}: providers accept 1 to 64 of A-Z a-z 0-9 _ -")
