"""One reply of a server that speaks the OpenAI API, whole or put together from a stream. Knows no connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A reply, or one piece of it; two put together are one longer reply."""

    content: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Mappings with ``id``, ``name`` and ``args``, the arguments as the text that the model wrote."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """``prompt_tokens``, ``completion_tokens``, ``total_tokens``; empty where the server tells none."""

    def __add__(self, other: ChatReply) -> ChatReply:
        return ChatReply(
            content=self.content + other.content,
            tool_calls=(*self.tool_calls, *other.tool_calls),
            usage=other.usage or self.usage,
        )


def whole_reply(completion: Any) -> ChatReply | None:
    """What a completion says; None where it holds no answer. Any: servers differ in what they leave out."""
    choices = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        return None
    calls = getattr(message, "tool_calls", None) or ()
    return ChatReply(
        content=_text(message),
        tool_calls=tuple(
            _call(getattr(call, "id", None), getattr(call.function, "name", None), call.function.arguments)
            for call in calls
            if getattr(call, "function", None) is not None
        ),
        usage=usage_in(completion),
    )


def usage_in(answer: Any) -> dict[str, int]:
    """The usage that a completion or a chunk tells; empty where it tells none."""
    usage = getattr(answer, "usage", None)
    counts = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


@dataclass(slots=True)
class StreamedReply:
    """What the chunks of one stream come to."""

    finished: bool = False
    """Whether the server said that the reply is whole."""
    usage: dict[str, int] = field(default_factory=dict)
    _calls: list[_OpenCall] = field(default_factory=list)

    def take(self, chunk: Any) -> str:
        """Take one chunk in and give the text that it adds. Any: servers differ in what they leave out."""
        self.usage = usage_in(chunk) or self.usage
        choices = getattr(chunk, "choices", None)
        if not choices:
            return ""
        self.finished = self.finished or bool(getattr(choices[0], "finish_reason", None))
        delta = getattr(choices[0], "delta", None)
        for piece in getattr(delta, "tool_calls", None) or ():
            self._take_call(piece)
        return _text(delta)

    def rest(self) -> ChatReply:
        """The calls and the usage, for after the text."""
        return ChatReply(
            tool_calls=tuple(_call(call.id, call.name, call.arguments) for call in self._calls), usage=self.usage
        )

    def _take_call(self, piece: Any) -> None:
        function = getattr(piece, "function", None)
        name = getattr(function, "name", None) or ""
        call_id = getattr(piece, "id", None) or ""
        index = getattr(piece, "index", None)
        call = next((one for one in reversed(self._calls) if index is None or one.index == index), None)
        # Some servers count every call as number 0: a name beside another id, or after arguments, is another call.
        if call is None or (name and (call_id != call.id if call_id else call.arguments)):
            call = _OpenCall(index, call_id)
            self._calls.append(call)
        call.name = call.name or name
        call.arguments += getattr(function, "arguments", None) or ""


@dataclass(slots=True)
class _OpenCall:
    """A call whose pieces are still coming."""

    index: int | None
    id: str
    name: str = ""
    arguments: str = ""


def _call(call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    return {"id": call_id or "", "name": name or "", "args": arguments or ""}


def _text(message: Any) -> str:
    """The words of a message or a delta; a refusal is an answer in words too."""
    text = getattr(message, "content", None) or getattr(message, "refusal", None)
    return text if isinstance(text, str) else ""
