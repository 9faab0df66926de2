"""What tests say about a conversation: every call answered once, in place, and all of it sendable."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from symfonic_ray.agent import Message

PROVIDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def assert_answered(messages: Sequence[Message]) -> None:
    """Every call of every turn is answered exactly once, in call order, before anything else is said."""
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        assert message.role != "tool", "an answer that nobody asked for"
        for call in message.tool_calls:
            answer = messages[position]
            assert (answer.role, answer.tool_call_id) == ("tool", call.id)
            position += 1
    ids = [call.id for message in messages for call in message.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def assert_sendable(sent: Sequence[dict[str, Any]]) -> None:
    """Every message is one that a strict provider takes."""
    for message in sent:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8")
        for call in message.get("tool_calls", ()):
            assert PROVIDER_NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"], parse_constant=_no_json), dict)


def _no_json(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def contents(messages: Sequence[Message], role: str = "tool") -> list[str]:
    """The texts of one role's messages, in order."""
    return [message.content for message in messages if message.role == role]
