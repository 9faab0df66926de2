"""A chat model that says what a test wrote, and remembers what it was sent. Decides nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """One reply of a scripted model. Two of them put together are one longer reply."""

    content: str = ""
    tool_calls: tuple[Any, ...] = ()
    """What it asks for: mappings or objects with ``id``, ``name`` and ``args``, such as ``ToolCall``."""
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def usage_metadata(self) -> dict[str, int]:
        """The tokens as a LangChain model tells them."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
        }

    def __add__(self, other: ScriptedReply) -> ScriptedReply:
        return ScriptedReply(
            content=self.content + other.content,
            tool_calls=(*self.tool_calls, *other.tool_calls),
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


Step: TypeAlias = str | ScriptedReply | BaseException | Callable[[Sequence[Any]], Any]
"""A text, a whole reply, an error to raise, or a function of the messages that gives one of these."""


class ScriptedModel:
    """A chat model with canned replies, one a turn; the last one stands for every later turn.

    Args:
        script: what it says, in order.
    Raises:
        ValueError: for an empty script.
    """

    model_name = "scripted"

    def __init__(self, *script: Step) -> None:
        if not script:
            raise ValueError("the script is empty; give at least one reply")
        self._script = script
        self.sent: list[tuple[Any, ...]] = []
        """The messages of every turn, shape (turns,) of (messages,)."""
        self.offered: list[str] = []
        """The names of the tools that were bound last."""
        self.tool_choice: Any = None
        """The choice that was forced last."""

    def bind_tools(self, tools: Sequence[Mapping[str, Any]], *, tool_choice: Any = None) -> ScriptedModel:
        """Remember the tools."""
        self.offered = [tool["function"]["name"] for tool in tools]
        self.tool_choice = tool_choice
        return self

    async def ainvoke(self, messages: Sequence[Any]) -> ScriptedReply:
        """Remember the messages and give the next reply.

        Raises:
            BaseException: where the script says so.
        """
        step: Any = self._script[min(len(self.sent), len(self._script) - 1)]
        self.sent.append(tuple(messages))
        if callable(step) and not isinstance(step, BaseException):
            step = step(messages)
        if isinstance(step, BaseException):
            raise step
        return ScriptedReply(content=step) if isinstance(step, str) else step

    async def astream(self, messages: Sequence[Any]) -> AsyncGenerator[ScriptedReply, None]:
        """The same reply word by word, its calls and tokens last."""
        reply = await self.ainvoke(messages)
        for word in reply.content.splitlines(keepends=True):
            for piece in word.replace(" ", " \0").split("\0"):
                if piece:
                    yield ScriptedReply(content=piece)
        yield ScriptedReply(
            tool_calls=reply.tool_calls, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens
        )

    @classmethod
    def from_text(cls, text: str) -> ScriptedModel:
        """A model from one line of a settings file.

        Args:
            text: the one thing that the model says, or a JSON list of its turns: a string for each answer, and a list
                of ``{"name": ..., "args": {...}}`` for each turn in which it asks for tools.
        Raises:
            ValueError: for text that begins as such a list and is none.
        """
        if not text.startswith("["):
            return cls(text)
        return cls(*map(_step, json.loads(text)))


def _step(turn: Any) -> Step:
    if isinstance(turn, str):
        return turn
    if not isinstance(turn, list) or not all(isinstance(row, dict) and "name" in row for row in turn):
        raise ValueError("a turn of the script is neither a string nor a list of calls with names")
    return asking(*((row["name"], row.get("args", {})) for row in turn))


def asking(*calls: tuple[str, Any], text: str = "", input_tokens: int = 0, output_tokens: int = 0) -> ScriptedReply:
    """A reply that asks for tools.

    Args:
        calls: shape (calls,), each a tool's name and its arguments; ids are made up. For other ids, and to leave
            them blank or repeat them, give a ``ScriptedReply`` its own ``tool_calls``.
    """
    return ScriptedReply(
        content=text,
        tool_calls=tuple(
            {"id": f"call_{place}", "name": name, "args": args} for place, (name, args) in enumerate(calls)
        ),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )
