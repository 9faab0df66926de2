"""One message of a conversation, and the form of it that a model is sent. Knows no model and no run.

What is sent is always something that a provider takes, whatever the model made up: one refused request would end the
run. So names, arguments and text are made sendable here; the message itself keeps them as they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from symfonic_ray.execution import ToolCall, UnreadableArgumentsError, read_arguments, result_text

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

UNREADABLE = "unreadable_arguments"
"""Stands, in what a model is sent, for argument text of its own that is no JSON object."""

_UNSENDABLE = re.compile(r"[^A-Za-z0-9_-]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NATIVE_TYPES = ("ai", "AIMessageChunk")  # LangChain's own words for a model's message, whole and streamed


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model asked for; ids are never blank and never repeated within a conversation."""
    tool_call_id: str = ""
    """The id of the call that a tool message answers."""
    name: str = ""
    """The tool that a tool message comes from, as the model wrote it."""
    is_error: bool = False
    """Whether a tool message tells of a call that did not do what was asked."""
    native: Any = field(default=None, repr=False, compare=False)
    """The model's own message object, which it is sent back as it is; None where it must be rebuilt. Any: foreign."""

    def as_dict(self) -> dict[str, Any]:
        """The message in the form of the OpenAI API, which models of every make read; plain JSON data."""
        sent: dict[str, Any] = {"role": self.role, "content": sendable_text(self.content)}
        if self.tool_calls:
            sent["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": sendable_name(call.name), "arguments": sendable_arguments(call.args)},
                }
                for call in self.tool_calls
            ]
        if self.role == "tool":
            sent["tool_call_id"] = self.tool_call_id
        return sent

    def for_model(self) -> Any:
        """What the model is sent: its own message object where there is one, else ``as_dict``."""
        return self.as_dict() if self.native is None else self.native


def is_native(reply: Any) -> bool:
    """Whether ``reply`` is a message object that its model takes back as it is. Any: models are foreign."""
    return not isinstance(reply, Mapping) and getattr(reply, "type", None) in _NATIVE_TYPES


def text_of(content: Any) -> str:
    """The text in a message's content: a string, or the text blocks of a list. Any: models are foreign."""
    if isinstance(content, str):
        return str.__str__(content)
    if not isinstance(content, list | tuple):
        return ""
    return "".join(block if isinstance(block, str) else _block_text(block) for block in content)


def sendable_text(text: str) -> str:
    """``text`` without lone surrogates, which no request can carry."""
    return _SURROGATES.sub("�", text)


def sendable_name(name: str) -> str:
    """``name`` in the letters that every provider accepts."""
    return _UNSENDABLE.sub("_", name)[:64] or "unnamed"


def sendable_arguments(args: Any) -> str:
    """Arguments as the text of one JSON object. Any: a model wrote them."""
    try:
        text = json.dumps(dict(read_arguments(args)), ensure_ascii=False, allow_nan=False, default=result_text)
    except (UnreadableArgumentsError, TypeError, ValueError, RecursionError):
        text = json.dumps({UNREADABLE: result_text(args)}, ensure_ascii=False)
    return sendable_text(text)


def _block_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
    return text if isinstance(text, str) else ""
