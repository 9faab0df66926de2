"""What a reply says is read from models of every make."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.agent import Tokens
from symfonic_ray.agent.replies import read_reply
from symfonic_ray.execution import ToolCall
from symfonic_ray.kernel.tokens import read_tokens, usage_of

CALL = ToolCall("c1", "echo", {"value": 1})
ROW = {"id": "c1", "name": "echo", "args": {"value": 1}}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": '{"value": 1}'}}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("words", "words"),
        ({"content": "words"}, "words"),
        (SimpleNamespace(content="words"), "words"),
        (None, ""),
        (7, ""),
    ],
    ids=["text", "mapping", "object", "nothing", "something else"],
)
def test_the_text_is_read_by_key_or_attribute(reply: Any, text: str) -> None:
    assert read_reply(reply).text == text


@pytest.mark.parametrize("rows", [[ROW], (SimpleNamespace(**ROW),), [CALL]], ids=["mappings", "objects", "calls"])
def test_calls_are_read_from_rows_of_any_form(rows: Any) -> None:
    assert read_reply({"content": "", "tool_calls": rows}).calls == (CALL,)


def test_calls_in_the_form_of_the_openai_api_keep_their_argument_text() -> None:
    assert read_reply({"tool_calls": [FUNCTION]}).calls == (ToolCall("c1", "echo", '{"value": 1}'),)


def test_calls_that_langchain_put_apart_as_invalid_are_calls_too() -> None:
    broken = {"id": "c2", "name": "echo", "args": '{"value"', "error": "no"}
    calls = read_reply(SimpleNamespace(content="", tool_calls=[ROW], invalid_tool_calls=[broken])).calls
    assert calls == (CALL, ToolCall("c2", "echo", '{"value"'))


def test_streamed_calls_are_read_from_their_text_and_not_from_what_was_guessed_of_it() -> None:
    guessed = SimpleNamespace(
        content="",
        tool_calls=[{"id": "c1", "name": "pay", "args": {"amount": 1}}],
        tool_call_chunks=[{"id": "c1", "name": "pay", "args": '{"amount": 1', "index": 0}],
    )
    assert read_reply(guessed).calls == (ToolCall("c1", "pay", '{"amount": 1'),)


@pytest.mark.parametrize("rows", ["echo", {"name": "echo"}, 7, None], ids=["text", "mapping", "number", "nothing"])
def test_what_is_no_list_of_calls_asks_for_none(rows: Any) -> None:
    assert read_reply({"content": "x", "tool_calls": rows}).calls == ()


def test_a_row_without_id_or_name_is_still_a_call() -> None:
    assert read_reply({"tool_calls": [{}]}).calls == (ToolCall("", "", None),)


@pytest.mark.parametrize(
    "reply",
    [
        {"usage_metadata": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}},
        {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}},
        {"usage": SimpleNamespace(prompt_tokens=3, completion_tokens=2)},
        {"response_metadata": {"token_usage": {"prompt_tokens": 3, "completion_tokens": 2}}},
    ],
    ids=["langchain", "openai", "an object", "langchain's metadata"],
)
def test_tokens_are_read_in_the_words_of_every_make(reply: dict[str, Any]) -> None:
    assert read_reply(reply).tokens == Tokens(input_tokens=3, output_tokens=2, total_tokens=5)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": "many"}, {"total_tokens": -1}, {"input_tokens": True}, 7])
def test_a_usage_that_tells_nothing_is_no_tokens(usage: Any) -> None:
    assert read_tokens(usage) == Tokens()


def test_a_usage_that_tells_only_its_sum_is_that_sum() -> None:
    assert read_tokens({"total_tokens": 9}).total_tokens == 9


def test_the_usage_of_a_run_reads_back_as_its_whole_tree() -> None:
    usage = usage_of(Tokens(input_tokens=1, total_tokens=1), Tokens(output_tokens=4, total_tokens=4))
    assert read_tokens(usage) == Tokens(input_tokens=1, output_tokens=4, total_tokens=5)
    assert usage["own"] == {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
