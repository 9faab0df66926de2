"""LangChain's chat models and tools work as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain_core", reason="needs the langchain extra")

from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import InjectedToolArg, StructuredTool
from langchain_core.tools import tool as langchain_tool
from pydantic import Field

from symfonic_ray.adapters.langchain_messages import from_langchain, to_langchain
from symfonic_ray.agent import Agent, Message, RunEnded, TextDelta
from symfonic_ray.agent.palette import offered
from symfonic_ray.execution import ToolCall
from tests.agent.conversations import assert_answered, contents


@langchain_tool
def multiply(left: int, right: int, secret: Annotated[str, InjectedToolArg] = "") -> int:
    """Multiply two numbers."""
    return left * right


class Scripted(BaseChatModel):
    """A LangChain model with tools that says its replies in order, whole or in chunks."""

    replies: list[AIMessage]
    chunks: list[AIMessageChunk] = Field(default_factory=list)
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        self.bound[:] = tools
        return self.bind(tools=tools)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.sent.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.replies[len(self.sent) - 1])])


class Chunked(Scripted):
    """The same, in chunks where it has some."""

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        self.sent.append(messages)
        if len(self.sent) > 1:
            yield ChatGenerationChunk(message=AIMessageChunk(content="done"))
        else:
            for chunk in self.chunks:
                yield ChatGenerationChunk(message=chunk)


def call(call_id: str = "c1", **args: Any) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[{"name": "multiply", "args": args, "id": call_id, "type": "tool_call"}],
        additional_kwargs={"signature": "of the provider"},
        usage_metadata={"input_tokens": 4, "output_tokens": 1, "total_tokens": 5},
    )


async def test_a_fake_list_chat_model_answers_unchanged() -> None:
    response = await Agent(FakeListChatModel(responses=["hello"]), [multiply], system_prompt="Be kind.").run("hi")
    assert response.final_response == "hello"
    assert response.report.binding == "not_implemented"


async def test_a_generic_fake_chat_model_streams_unchanged() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("two words")]))
    events = [event async for event in Agent(model).stream("hi")]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["two", " ", "words"]
    assert isinstance(events[-1], RunEnded)
    assert events[-1].response.final_response == "two words"


async def test_a_model_calls_a_langchain_tool_and_gets_its_result() -> None:
    model = Scripted(replies=[call(left=6, right=7), AIMessage("It is 42.")])
    response = await Agent(model, [multiply], system_prompt="Calculate.").run("6 times 7?")
    assert response.final_response == "It is 42."
    assert [type(message) for message in model.sent[1]] == [SystemMessage, HumanMessage, AIMessage, ToolMessage]
    assert model.sent[1][3].content == "42"
    assert response.usage["total_tokens"] == 5


async def test_a_tool_is_offered_without_what_is_injected() -> None:
    model = Scripted(replies=[AIMessage("done")])
    await Agent(model, [multiply]).run("go")
    (function,) = [tool["function"] for tool in model.bound]
    assert (function["name"], function["description"]) == ("multiply", "Multiply two numbers.")
    assert sorted(function["parameters"]["properties"]) == ["left", "right"]


async def test_an_async_structured_tool_works_unchanged() -> None:
    async def look(city: str) -> str:
        return f"sunny in {city}"

    weather = StructuredTool.from_function(coroutine=look, name="weather", description="Weather of a city.")
    asks = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Bern"}, "id": "w", "type": "tool_call"}])
    response = await Agent(Scripted(replies=[asks, AIMessage("done")]), [weather]).run("go")
    assert contents(response.messages) == ["sunny in Bern"]
    assert offered(weather)["function"]["parameters"]["required"] == ["city"]


async def test_a_tool_that_refuses_its_arguments_is_answered_as_an_error() -> None:
    model = Scripted(replies=[call(left="many", right=7), AIMessage("done")])
    response = await Agent(model, [multiply]).run("go")
    assert response.messages[2].is_error
    assert response.final_response == "done"


async def test_a_model_s_own_message_comes_back_to_it_with_all_that_its_provider_put_in() -> None:
    model = Scripted(replies=[call(left=6, right=7), AIMessage("done")])
    await Agent(model, [multiply]).run("go")
    assert model.sent[1][1].additional_kwargs == {"signature": "of the provider"}


async def test_a_call_with_a_blank_id_is_answered_under_an_id_that_the_model_sees_too() -> None:
    model = Scripted(replies=[call("", left=6, right=7), AIMessage("done")])
    response = await Agent(model, [multiply]).run("go")
    assert_answered(response.messages)
    asked, answered = model.sent[1][1:]
    assert isinstance(asked, AIMessage)
    assert isinstance(answered, ToolMessage)
    assert asked.tool_calls[0]["id"] == answered.tool_call_id != ""


async def test_a_call_that_langchain_found_invalid_is_answered_and_not_run() -> None:
    broken = {"name": "multiply", "args": '{"left": 6', "id": "c1", "error": None, "type": "invalid_tool_call"}
    model = Scripted(replies=[AIMessage("", invalid_tool_calls=[broken]), AIMessage("done")])
    response = await Agent(model, [multiply]).run("go")
    assert [outcome.reason for outcome in response.report.outcomes] == ["bad_arguments"]
    assert_answered(response.messages)
    assert response.final_response == "done"


def piece(args: str, name: str | None = None) -> AIMessageChunk:
    row = tool_call_chunk(name=name, args=args, id="c1" if name else None, index=0)
    return AIMessageChunk(content="", tool_call_chunks=[row])


async def streamed(*chunks: AIMessageChunk) -> Any:
    model = Chunked(replies=[], chunks=list(chunks))
    events = [event async for event in Agent(model, [multiply]).stream("go")]
    assert isinstance(events[-1], RunEnded)
    return events[-1].response


async def test_a_streamed_call_is_put_together_and_run() -> None:
    response = await streamed(piece('{"left": 6,', "multiply"), piece(' "right": 7}'))
    assert [outcome.value for outcome in response.report.outcomes] == [42]
    assert response.final_response == "done"


async def test_a_streamed_call_that_breaks_off_is_not_completed_by_guessing() -> None:
    response = await streamed(piece('{"left": 6, "right": 7, "secret": "a', "multiply"))
    assert [outcome.reason for outcome in response.report.outcomes] == ["bad_arguments"]


CONVERSATION = (
    Message(role="system", content="Calculate."),
    Message(role="user", content="6 times 7?"),
    Message(
        role="assistant",
        content="Well.",
        tool_calls=(ToolCall("c1", "multiply", {"left": 6}), ToolCall("c2", "x", "{")),
    ),
    Message(role="tool", content="42", tool_call_id="c1", name="multiply"),
    Message(role="tool", content="unreadable", tool_call_id="c2", name="x", is_error=True),
    Message(role="assistant", content="42"),
)


def test_a_conversation_is_carried_over_and_back() -> None:
    there = to_langchain(CONVERSATION)
    assert [message.type for message in there] == ["system", "human", "ai", "tool", "tool", "ai"]
    assert isinstance(there[4], ToolMessage)
    assert there[4].status == "error"
    assert from_langchain(there) == CONVERSATION


def test_a_message_that_came_from_langchain_is_that_same_object_again() -> None:
    message = call(left=6, right=7)
    assert to_langchain(from_langchain([message])) == [message]
    assert to_langchain(from_langchain([message]))[0] is message


def test_a_message_of_another_kind_is_refused() -> None:
    from langchain_core.messages import RemoveMessage

    with pytest.raises(ValueError, match="remove"):
        from_langchain([RemoveMessage(id="1")])
