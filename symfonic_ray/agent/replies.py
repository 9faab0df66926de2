"""What one reply of a chat model says, whatever make the model is. Reads by structure; calls nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.agent.messages import text_of
from symfonic_ray.execution import ToolCall
from symfonic_ray.kernel.tokens import Tokens, read_tokens

# LangChain parses what it can of streamed arguments and so makes whole calls of broken ones: its chunks hold the text.
_STREAMED_CALLS = "tool_call_chunks"
_WHOLE_CALLS = ("tool_calls", "invalid_tool_calls")  # LangChain puts calls with malformed arguments apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A reply, read."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """What the model asks for, in order; ids may be blank or repeated, arguments may be text."""
    tokens: Tokens = field(default_factory=Tokens)


def read_reply(reply: Any) -> ModelReply:
    """Read a reply.

    Args:
        reply: text, or a message with ``content``, ``tool_calls`` and a usage, by key or attribute. Any: foreign.
    """
    if isinstance(reply, str):
        return ModelReply(text=reply)
    return ModelReply(text=text_of(_part(reply, "content")), calls=_calls(reply), tokens=_tokens(reply))


def _calls(reply: Any) -> tuple[ToolCall, ...]:
    streamed = _rows(_part(reply, _STREAMED_CALLS))
    rows = streamed or [row for name in _WHOLE_CALLS for row in _rows(_part(reply, name))]
    return tuple(_call(row) for row in rows)


def _call(row: Any) -> ToolCall:
    function = _part(row, "function")  # the OpenAI form nests name and argument text
    name, args = (
        (_part(row, "name"), _part(row, "args"))
        if function is None
        else (_part(function, "name"), _part(function, "arguments"))
    )
    call_id = _part(row, "id")
    return ToolCall(call_id if isinstance(call_id, str) else "", name if isinstance(name, str) else "", args)


def _tokens(reply: Any) -> Tokens:
    for usage in (_part(reply, "usage_metadata"), _part(reply, "usage")):
        if usage is not None:
            return read_tokens(usage)
    return read_tokens(_part(_part(reply, "response_metadata"), "token_usage"))


def _rows(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []


def _part(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)
