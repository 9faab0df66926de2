"""What a model is sent is always something that a provider takes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.agent import Message
from symfonic_ray.agent.conversation import RESULT_BYTES, Conversation, clipped_result
from symfonic_ray.agent.messages import UNREADABLE, text_of
from symfonic_ray.agent.replies import read_reply
from symfonic_ray.execution import LoopTerminationPolicy, ToolCall
from tests.agent.conversations import assert_answered, assert_sendable


def assistant(name: str, args: Any) -> dict[str, Any]:
    return Message(role="assistant", tool_calls=(ToolCall("c", name, args),)).as_dict()


@pytest.mark.parametrize("name", ["", "search the web", "naïve", "x" * 200, "a\nb", "\ud800"])
def test_a_name_that_a_model_made_up_is_sent_in_letters_that_providers_accept(name: str) -> None:
    assert_sendable([assistant(name, {})])


@pytest.mark.parametrize("args", ["{", "[]", '{"a": NaN}', 7, float("nan"), {"a": float("inf")}, {"a": "\udfff"}, b"{"])
def test_arguments_that_a_model_made_up_are_sent_as_one_json_object(args: Any) -> None:
    assert_sendable([assistant("echo", args)])


def test_unreadable_arguments_are_sent_as_what_they_are() -> None:
    sent = assistant("echo", '{"a": ')
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {UNREADABLE: '{"a": '}


def test_readable_arguments_are_sent_with_their_letters() -> None:
    assert "Zürich" in assistant("echo", {"city": "Zürich"})["tool_calls"][0]["function"]["arguments"]


def test_text_that_no_request_can_carry_is_replaced() -> None:
    assert Message(role="tool", content="a\ud800b", tool_call_id="c").as_dict()["content"] == "a�b"


def test_a_tool_message_tells_the_call_that_it_answers() -> None:
    sent = Message(role="tool", content="3", tool_call_id="c9", name="add", is_error=False).as_dict()
    assert sent == {"role": "tool", "content": "3", "tool_call_id": "c9"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (["a", {"type": "text", "text": "b"}], "ab"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}], "b"),
        ([{"type": "text"}], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_the_text_of_a_content_is_read_whatever_its_form(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_a_long_result_is_cut_with_its_size() -> None:
    cut = clipped_result("é" * RESULT_BYTES)
    assert len(cut.encode()) <= RESULT_BYTES
    assert str(2 * RESULT_BYTES) in cut.splitlines()[-1]


def test_a_result_of_just_the_limit_is_whole() -> None:
    assert clipped_result("x" * RESULT_BYTES) == "x" * RESULT_BYTES


def test_what_is_open_is_answered_once() -> None:
    talk = Conversation("", "go")
    talk.say(
        read_reply({"tool_calls": [{"id": "", "name": "a", "args": {}}, {"id": "", "name": "b", "args": {}}]}), None
    )
    talk.answer_unanswered("cut short")
    talk.answer_unanswered("again")
    assert_answered(talk.messages)
    assert [(m.name, m.content, m.is_error) for m in talk.messages[2:]] == [
        ("a", "cut short", True),
        ("b", "cut short", True),
    ]


def test_messages_are_read_by_the_termination_policy() -> None:
    call = Message(role="assistant", tool_calls=(ToolCall("c", "poll", {"job": 1}),))
    answer = Message(role="tool", content="running", tool_call_id="c", name="poll")
    assert LoopTerminationPolicy().evaluate([call, answer] * 3).reason == "repeated_signature"


NATIVE = SimpleNamespace(type="ai", content="hm", tool_calls=[{"id": "c1", "name": "echo", "args": {"value": 1}}])


def spoken(native: Any) -> Message:
    talk = Conversation("", "go")
    talk.say(read_reply(native), native)
    return talk.messages[-1]


def test_a_model_s_own_message_object_is_sent_back_as_it_is() -> None:
    assert spoken(NATIVE).for_model() is NATIVE


@pytest.mark.parametrize(
    "row",
    [
        {"id": "", "name": "echo", "args": {}},
        {"id": "c1", "name": "echo", "args": '{"a'},
        {"id": "c1", "name": "no such tool", "args": {}},
    ],
    ids=["a blank id", "unreadable arguments", "an impossible name"],
)
def test_a_message_object_that_had_to_be_repaired_is_rebuilt(row: dict[str, Any]) -> None:
    sent = spoken(SimpleNamespace(type="ai", content="", tool_calls=[row])).for_model()
    assert isinstance(sent, dict)
    assert_sendable([sent])
