"""A conversation carried over to LangChain and back. The models and tools themselves need no carrying.

A LangChain chat model is a ``ChatModel`` as it is, and a LangChain tool a tool; this is for code that keeps histories.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from symfonic_ray.adapters.errors import MissingLibraryError
from symfonic_ray.agent import Message
from symfonic_ray.agent.messages import Role, is_native, text_of
from symfonic_ray.agent.replies import read_reply
from symfonic_ray.execution import ToolCall, UnreadableArgumentsError, read_arguments

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """``messages`` as LangChain's own; a message that came from a LangChain model is that same object again.

    Raises:
        MissingLibraryError: without langchain-core.
    """
    kinds = _kinds()
    return [_to_langchain(message, kinds) for message in messages]


def from_langchain(messages: Iterable[Any]) -> tuple[Message, ...]:
    """LangChain's messages as ours. Any: they are read by structure, whatever their library's version.

    Raises:
        ValueError: for a message of a kind that a conversation with tools does not have.
    """
    return tuple(_from_langchain(message) for message in messages)


def _to_langchain(message: Message, kinds: Any) -> BaseMessage:
    made: BaseMessage
    if message.native is not None and is_native(message.native):
        made = message.native
    elif message.role == "system":
        made = kinds.SystemMessage(message.content)
    elif message.role == "user":
        made = kinds.HumanMessage(message.content)
    elif message.role == "tool":
        made = kinds.ToolMessage(
            message.content,
            tool_call_id=message.tool_call_id,
            name=message.name,
            status="error" if message.is_error else "success",
        )
    else:
        rows = [_row(call) for call in message.tool_calls]
        made = kinds.AIMessage(
            message.content,
            tool_calls=[row for row in rows if row["type"] == "tool_call"],
            invalid_tool_calls=[row for row in rows if row["type"] == "invalid_tool_call"],
        )
    return made


def _row(call: ToolCall) -> dict[str, Any]:
    try:
        args = dict(read_arguments(call.args))
    except UnreadableArgumentsError as error:
        return {
            "id": call.id,
            "name": call.name,
            "args": str(call.args),
            "error": str(error),
            "type": "invalid_tool_call",
        }
    return {"id": call.id, "name": call.name, "args": args, "type": "tool_call"}


def _from_langchain(message: Any) -> Message:
    kind = str(message.type).removesuffix("MessageChunk").lower()
    if kind not in _ROLES:
        raise ValueError(
            f"a message of type {message.type!r} has no place here; give system, human, ai or tool messages"
        )
    reply = read_reply(message)
    return Message(
        role=_ROLES[kind],
        content=text_of(message.content),
        tool_calls=reply.calls,
        tool_call_id=getattr(message, "tool_call_id", None) or "",
        name=message.name or "",
        is_error=getattr(message, "status", None) == "error",
        native=message if is_native(message) else None,
    )


def _kinds() -> Any:
    try:
        from langchain_core import messages
    except ImportError as error:
        command = "pip install 'symfonic-ray[langchain]'"
        raise MissingLibraryError("langchain", "langchain-core", command) from error
    return messages
