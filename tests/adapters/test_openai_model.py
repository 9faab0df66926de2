"""``openai:NAME`` against a real server: what is asked, what is read, what is tried again, and what is never shown."""

from __future__ import annotations

import logging
import pickle
import socket
import time
from typing import Any

import pytest

from symfonic_ray.adapters.chat_reply import ChatReply
from symfonic_ray.adapters.errors import (
    BrokenReplyError,
    MissingKeyError,
    MissingLibraryError,
    ModelBusyError,
    ModelError,
    ModelRequestError,
    ModelUnreachableError,
)
from symfonic_ray.adapters.openai_model import OpenAIModel
from tests.adapters.conftest import KEY
from tests.adapters.stub_server import USAGE, StubServer, Turn

MESSAGES = [{"role": "user", "content": "hello?"}]
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}
TWO_CALLS = Turn(text="Let me see.", calls=[("c1", "add", '{"left": 1}'), ("c2", "add", '{"left": 2}')])
READ = (
    {"id": "c1", "name": "add", "args": '{"left": 1}'},
    {"id": "c2", "name": "add", "args": '{"left": 2}'},
)


async def asked(model: OpenAIModel) -> ChatReply:
    async with model:
        return await model.ainvoke(MESSAGES)


async def streamed(model: OpenAIModel) -> tuple[list[str], ChatReply]:
    """The pieces of text, and the whole."""
    async with model:
        pieces = [piece async for piece in model.astream(MESSAGES)]
    whole = ChatReply()
    for piece in pieces:
        whole += piece
    return [piece.content for piece in pieces if piece.content], whole


async def test_the_request_holds_the_model_the_messages_and_the_options(stub: StubServer) -> None:
    reply = await asked(OpenAIModel("stub-1", options={"temperature": 0}))
    assert reply == ChatReply(content="hello", usage=USAGE)
    assert stub.requests == [{"model": "stub-1", "messages": MESSAGES, "temperature": 0}]


async def test_the_key_and_the_address_come_from_the_environment(stub: StubServer) -> None:
    await asked(OpenAIModel("stub"))
    assert stub.keys == [f"Bearer {KEY}"]


async def test_an_address_may_be_given(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert (await asked(OpenAIModel("stub", base_url=stub.base_url))).content == "hello"


async def test_a_server_of_one_s_own_needs_no_key(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert (await asked(OpenAIModel("stub"))).content == "hello"


def test_without_key_and_address_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt")


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'symfonic-ray\[openai\]'"):
        OpenAIModel("gpt")


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("add", {"type": "function", "function": {"name": "add"}}),
        ({"type": "function", "function": {"name": "add"}}, {"type": "function", "function": {"name": "add"}}),
    ],
)
async def test_tools_are_sent_with_the_choice_that_is_forced(stub: StubServer, choice: Any, sent: Any) -> None:
    model = OpenAIModel("stub")
    await asked(model.bind_tools([TOOL], tool_choice=choice))
    assert stub.requests[0]["tools"] == [TOOL]
    assert stub.requests[0].get("tool_choice") == sent


async def test_binding_leaves_the_model_itself_without_tools(stub: StubServer) -> None:
    model = OpenAIModel("stub")
    model.bind_tools([TOOL])
    await asked(model)
    assert "tools" not in stub.requests[0]


async def test_parallel_calls_are_read_with_their_argument_text(stub: StubServer) -> None:
    stub.turns = [TWO_CALLS]
    assert await asked(OpenAIModel("stub")) == ChatReply(content="Let me see.", tool_calls=READ, usage=USAGE)


async def test_a_stream_gives_words_as_they_come_and_the_calls_in_the_end(stub: StubServer) -> None:
    stub.turns = [TWO_CALLS]
    words, whole = await streamed(OpenAIModel("stub"))
    assert words == ["Let", " me", " see."]
    assert whole == ChatReply(content="Let me see.", tool_calls=READ, usage=USAGE)


@pytest.mark.parametrize("ids", [("c1", "c2"), ("", ""), (None, None), ("c1", None)], ids=repr)
async def test_calls_that_a_stream_counts_under_one_number_are_told_apart(stub: StubServer, ids: Any) -> None:
    calls = [(call_id, name, text) for call_id, (_, name, text) in zip(ids, TWO_CALLS.calls, strict=True)]
    stub.turns = [Turn(calls=calls, one_index=True)]
    _, whole = await streamed(OpenAIModel("stub"))
    assert [call["args"] for call in whole.tool_calls] == [call["args"] for call in READ]
    assert [call["id"] for call in whole.tool_calls] == [call_id or "" for call_id in ids]


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize(("call_id", "read"), [("", ""), (None, ""), ("same", "same")])
async def test_blank_and_repeated_ids_are_handed_on_as_they_are(
    stub: StubServer, call_id: str | None, read: str, how: str
) -> None:
    stub.turns = [Turn(calls=[(call_id, "add", "{}"), (call_id, "add", '{"left": 1')])]
    model = OpenAIModel("stub")
    reply = await asked(model) if how == "whole" else (await streamed(model))[1]
    assert [call["id"] for call in reply.tool_calls] == [read, read]
    assert [call["args"] for call in reply.tool_calls] == ["{}", '{"left": 1']


async def test_the_wait_that_a_busy_server_asks_for_is_kept(stub: StubServer) -> None:
    stub.turns = [Turn(status=429, headers={"Retry-After": "0.4"}, error="slow down"), Turn(text="now")]
    assert (await asked(OpenAIModel("stub"))).content == "now"
    first, second = stub.arrivals
    assert second - first >= 0.4


async def test_a_stream_is_asked_for_again_while_the_server_is_busy(stub: StubServer) -> None:
    stub.turns = [
        Turn(status=429, headers={"Retry-After": "0.05"}),
        Turn(status=503, headers={"Retry-After": "0.05"}),
        Turn(text="now"),
    ]
    words, _ = await streamed(OpenAIModel("stub"))
    assert words == ["now"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_stays_busy_is_given_up_after_the_retries(stub: StubServer, status: int) -> None:
    stub.turns = [Turn(status=status, headers={"Retry-After": "0.01"}, error="come back tomorrow")]
    with pytest.raises(ModelBusyError, match="come back tomorrow") as caught:
        await asked(OpenAIModel("stub", max_retries=2))
    assert len(stub.requests) == 3
    assert caught.value.status == status


async def test_a_wait_of_more_than_a_minute_is_not_sat_out(stub: StubServer) -> None:
    stub.turns = [Turn(status=429, headers={"Retry-After": "3600"}, error="an hour")]
    with pytest.raises(ModelBusyError, match="an hour"):
        await asked(OpenAIModel("stub"))
    assert len(stub.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_request_that_is_refused_for_good_is_made_once(stub: StubServer, status: int) -> None:
    stub.turns = [Turn(status=status, error="no such model")]
    with pytest.raises(ModelRequestError, match="no such model") as caught:
        await asked(OpenAIModel("stub"))
    assert len(stub.requests) == 1
    assert not isinstance(caught.value, ModelBusyError)


async def test_a_key_that_the_server_repeats_is_not_shown(stub: StubServer, caplog: pytest.LogCaptureFixture) -> None:
    stub.turns = [Turn(status=401, error=f"the key {KEY} is wrong")]
    model = OpenAIModel("stub")
    with caplog.at_level(logging.DEBUG, "symfonic_ray"), pytest.raises(ModelRequestError) as caught:
        await asked(model)
    error = caught.value
    assert "redacted" in str(error)
    for text in (str(error), repr(error), repr(error.args), repr(model), repr(vars(model)), caplog.text):
        assert KEY not in text
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize("how", ["whole", "streamed"])
async def test_a_slow_first_byte_is_given_up_in_time(stub: StubServer, how: str) -> None:
    stub.turns = [Turn(text="late", delay_seconds=1.0)]
    model = OpenAIModel("stub", timeout_seconds=0.2, max_retries=0)
    started = time.monotonic()
    with pytest.raises(ModelUnreachableError, match=r"0\.2 seconds"):
        await (asked(model) if how == "whole" else streamed(model))
    assert time.monotonic() - started < 0.9


async def test_a_first_byte_within_the_time_is_waited_for(stub: StubServer) -> None:
    stub.turns = [Turn(text="in time", delay_seconds=0.2)]
    assert (await asked(OpenAIModel("stub", timeout_seconds=5))).content == "in time"


@pytest.mark.parametrize("cut", ["silently", "mid-line"])
async def test_a_stream_that_is_cut_off_is_an_error_and_is_not_asked_for_again(stub: StubServer, cut: Any) -> None:
    stub.turns = [Turn(text="one two three", cut=cut)]
    with pytest.raises(BrokenReplyError, match="cut off"):
        await streamed(OpenAIModel("stub"))
    assert len(stub.requests) == 1


@pytest.mark.parametrize("body", ['{"choices": []}', "{}", '{"choices": [{"index": 0}]}', "null", "[]", "not json"])
async def test_an_answer_without_a_message_is_an_error(stub: StubServer, body: str) -> None:
    stub.turns = [Turn(body=body)]
    with pytest.raises(BrokenReplyError):
        await asked(OpenAIModel("stub"))


async def test_a_refusal_is_an_answer_in_words(stub: StubServer) -> None:
    stub.turns = [Turn(body='{"choices": [{"message": {"content": null, "refusal": "I will not."}}]}')]
    assert (await asked(OpenAIModel("stub"))).content == "I will not."


async def test_a_server_that_is_not_there_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = OpenAIModel("stub", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1", max_retries=0)
        with pytest.raises(ModelUnreachableError, match="cannot be reached"):
            await asked(model)


async def test_a_stream_that_is_left_early_gives_its_connection_back(stub: StubServer) -> None:
    stub.turns = [Turn(text=" ".join(["word"] * 200)), Turn(text="next")]
    async with OpenAIModel("stub") as model:
        stream = model.astream(MESSAGES)
        assert (await anext(stream)).content == "word"
        await stream.aclose()
        assert (await model.ainvoke(MESSAGES)).content == "next"


async def test_closing_twice_does_nothing_and_a_closed_model_opens_again(stub: StubServer) -> None:
    model = OpenAIModel("stub")
    await asked(model)
    await model.aclose()
    assert (await asked(model)).content == "hello"


def test_every_error_survives_a_pickle_with_its_words_and_facts() -> None:
    errors: list[ModelError] = [
        ModelRequestError("m", 400, "no"),
        ModelBusyError("m", 429, "no"),
        ModelUnreachableError("m", "is gone"),
        BrokenReplyError("m", "was cut off"),
        MissingKeyError("m", "KEY"),
        MissingLibraryError("m", "lib", "pip install lib"),
    ]
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
