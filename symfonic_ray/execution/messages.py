"""How a conversation is read: by key or by attribute, so that any library's messages will do. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symfonic_ray.execution.values import ToolCall


def read(record: Any, name: str) -> Any:
    """The part of ``record`` under ``name``, by key or by attribute; None where there is none or it cannot be read."""
    try:
        return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)
    except Exception:  # a foreign record may raise from anything that is asked of it
        return None


def calls_of(message: Any) -> tuple[ToolCall, ...]:
    """The tool calls that one message asks for, in order; empty for a message of any other kind."""
    rows = read(message, "tool_calls")
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        return ()
    return tuple(_call(row) for row in rows)


def is_tool_result(message: Any) -> bool:
    """Whether ``message`` answers a tool call."""
    return "tool" in (read(message, "type"), read(message, "role"))


def is_failed(message: Any) -> bool:
    """Whether a tool result says that the call failed."""
    return read(message, "status") == "error" or read(message, "is_error") is True


def _call(row: Any) -> ToolCall:
    function = read(row, "function")
    if function is not None:  # the OpenAI form nests name and argument text
        name, args = read(function, "name"), read(function, "arguments")
    else:
        name, args = read(row, "name"), read(row, "args")
    call_id = read(row, "id")
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "", name=name if isinstance(name, str) else "", args=args
    )
