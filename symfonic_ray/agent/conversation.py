"""The messages of one run, in an order that every provider accepts: each call answered once, in place, before more.

Knows no model and no tool. Calls are told apart by their place; the ids that the model gave may be blank or repeated.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symfonic_ray.agent.messages import Message, is_native, sendable_name
from symfonic_ray.agent.replies import ModelReply
from symfonic_ray.execution import ToolCall, ToolOutcome, UnreadableArgumentsError, read_arguments
from symfonic_ray.kernel import Ambient

RESULT_BYTES = 65_536  # about 16,000 tokens: ten such results in one hop still fit the windows of today's models


class Conversation:
    """What was said so far."""

    def __init__(self, system_prompt: str, query: str) -> None:
        self._messages: list[Message] = [Message(role="system", content=system_prompt)] if system_prompt else []
        self._messages.append(Message(role="user", content=query))
        self._ids: set[str] = set()
        self._waiting: tuple[ToolCall, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message, oldest first."""
        return tuple(self._messages)

    def for_model(self) -> list[Any]:
        """What the model is sent; Any because it may be its own message objects."""
        return [message.for_model() for message in self._messages]

    def say(self, reply: ModelReply, original: Any) -> None:
        """Add a model's reply.

        Args:
            reply: the reply, read.
            original: the reply as it came, kept where the model can be sent it again. Any: foreign.
        """
        calls = tuple(replace(call, id=self._own_id(call.id)) for call in reply.calls)
        # An object with ids or arguments that had to be repaired would send the broken ones again.
        as_it_was = is_native(original) and calls == reply.calls and all(_is_sendable(call) for call in calls)
        native = original if as_it_was else None
        self._messages.append(Message(role="assistant", content=reply.text, tool_calls=calls, native=native))
        self._waiting = calls

    def answer(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Answer every call of the last reply; ``outcomes`` has shape (calls,), in call order."""
        for call, outcome in zip(self._waiting, outcomes, strict=True):
            content = clipped_result(outcome.content)
            self._messages.append(
                Message(role="tool", content=content, tool_call_id=call.id, name=call.name, is_error=outcome.is_error)
            )
        self._waiting = ()

    def answer_unanswered(self, words: str) -> None:
        """Answer what is still open of the last reply with ``words``, as an error."""
        self.answer([ToolOutcome(call, words, is_error=True) for call in self._waiting])

    def _own_id(self, call_id: str) -> str:
        """``call_id``, or a new one where it is blank or was there before."""
        if not call_id.strip() or call_id in self._ids:
            call_id = secrets.token_hex(5)[:9]  # nine letters and digits: the strictest provider's form
        self._ids.add(call_id)
        return call_id


def clipped_result(text: str, *, limit_bytes: int = RESULT_BYTES) -> str:
    """``text``, cut to ``limit_bytes`` of UTF-8 with a mark that tells its whole size where it is longer."""
    if len(text) * 4 <= limit_bytes:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return text
    mark = f"\n... (cut: the whole result has {len(raw)} bytes, {limit_bytes} are shown)"
    return raw[: limit_bytes - len(mark)].decode("utf-8", "ignore") + mark


def _is_sendable(call: ToolCall) -> bool:
    """Whether a provider takes the call as the model wrote it."""
    try:
        read_arguments(call.args)
    except UnreadableArgumentsError:
        return False
    return sendable_name(call.name) == call.name


CURRENT: Ambient[Conversation] = Ambient("symfonic_ray_conversation")


def current_messages() -> tuple[Message, ...]:
    """The messages of the agent's run in flight, for a ``SkillPrecondition``'s state; empty outside a run."""
    conversation = CURRENT.current()
    return () if conversation is None else conversation.messages
