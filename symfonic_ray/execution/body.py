"""How a tool of any shape is called. Finds the callable in it; calls nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from symfonic_ray.execution.catalog import Tool, ToolDescriptor, is_asynchronous


@dataclass(frozen=True, slots=True)
class ToolBody:
    """The callable in a tool."""

    start: Callable[[Mapping[str, Any]], Any]
    """Called with the arguments. Any: a value, an awaitable, an iterator or an async iterator."""
    asynchronous: bool
    """Whether ``start`` may be called on the event loop; else it needs a thread."""


class NotRunnableError(TypeError):
    """A tool in which nothing can be called."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f"a tool of type {self.kind} cannot be run; give a callable, or an object with invoke or ainvoke"


def body_of(tool: Any) -> ToolBody:
    """The callable in ``tool``: ``ainvoke(args)``, ``invoke(args)``, ``coroutine(**args)`` or the tool itself.

    Raises:
        NotRunnableError: where there is none of these.
    """
    if isinstance(tool, Tool):
        return ToolBody(_spread(tool.function), is_asynchronous(tool))
    ainvoke, invoke = getattr(tool, "ainvoke", None), getattr(tool, "invoke", None)
    if callable(ainvoke):
        return ToolBody(_whole(ainvoke), True)
    if callable(invoke):
        return ToolBody(_whole(invoke), is_asynchronous(invoke))
    coroutine = getattr(tool, "coroutine", None)
    if callable(coroutine):  # a DelegationToolSpec, and whatever is shaped like one
        return ToolBody(_spread(coroutine), True)
    if callable(tool):
        return ToolBody(_spread(tool), is_asynchronous(tool))
    raise NotRunnableError(type(tool).__name__)


def descriptor_of(tool: Any, name: str) -> ToolDescriptor:
    """The descriptor that ``tool`` carries, else a plain one under ``name``; its ``isolation`` is always decided.

    Args:
        tool: any tool the executor takes. Any: tools are foreign.
        name: the name it is offered under.
    Raises:
        NotRunnableError: where nothing in ``tool`` can be called.
    """
    carried = getattr(tool, "descriptor", None)
    descriptor = carried if isinstance(carried, ToolDescriptor) else ToolDescriptor(name)
    if descriptor.isolation is not None:
        return descriptor
    return replace(descriptor, isolation="shared" if body_of(tool).asynchronous else "task")


def private_copy(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, each copied deep so that a tool writes to its own; what cannot be copied is shared.

    A tool in another process gets copies too: this makes both alike.
    """
    return {name: _copied(value) for name, value in args.items()}


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a lock, a socket, an open file: there is only the one
        return value


def _spread(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda args: function(**private_copy(args))


def _whole(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda args: function(private_copy(args))
