"""A chat model behind any server that speaks the OpenAI API. Knows how to ask and what can go wrong, not where it is.

The openai package does the waiting: it honours ``Retry-After`` up to a minute, backs off at 408, 409, 429 and 5xx, and
gives up after the retries it is allowed. A stream is never asked for again once it has begun.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Any, Protocol, Self

from symfonic_ray.adapters.chat_reply import ChatReply, StreamedReply, whole_reply
from symfonic_ray.adapters.errors import BrokenReplyError, ModelBusyError, ModelRequestError, ModelUnreachableError
from symfonic_ray.kernel.text import clipped, collapsed

BUSY = (408, 409, 429)  # and 500 upwards: what the openai package tries again


class Connection(Protocol):
    """Where the server is and how it is spoken to."""

    @property
    def timeout_seconds(self) -> float:
        """The longest silence of the server."""
        ...

    async def client(self) -> Any:
        """An ``openai.AsyncOpenAI``, always the same while it is of use. Any: the library is optional."""
        ...

    def redacted(self, text: str) -> str:
        """``text`` without the connection's secrets."""
        ...

    async def aclose(self) -> None:
        """Give up the client."""
        ...


class ChatCompletions:
    """A ``ChatModel`` over one connection; for one event loop."""

    def __init__(self, model_name: str, connection: Connection, *, options: Mapping[str, Any] | None = None) -> None:
        """Hold the connection.

        Args:
            model_name: what the server calls the model.
            connection: opened when it is first asked.
            options: more fields of each request, such as ``temperature``. Any: JSON data of the provider's own.
        """
        self.model_name = model_name
        self._connection = connection
        self._request: dict[str, Any] = dict(options or {})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model_name!r}>"  # nothing of the connection: it may hold a secret

    def bind_tools(self, tools: Sequence[Mapping[str, Any]], *, tool_choice: Any = None) -> Self:
        """The same model with tools, over the same connection.

        Args:
            tools: shape (tools,), in the form of the OpenAI API.
            tool_choice: a tool's name, ``auto``, ``none``, ``required``, or the API's own mapping; None for none.
        """
        bound = copy(self)
        bound._request = {**self._request, "tools": [dict(tool) for tool in tools]}
        if tool_choice is not None:
            bound._request["tool_choice"] = _choice(tool_choice)
        return bound

    async def ainvoke(self, messages: Sequence[Mapping[str, Any]]) -> ChatReply:
        """Answer ``messages``.

        Raises:
            ModelBusyError: when the server refuses after all retries.
            ModelRequestError: when it refuses for good.
            ModelUnreachableError: when no answer comes.
            BrokenReplyError: when what comes is no answer.
        """
        client = await self._connection.client()
        with self._faults():
            completion = await client.chat.completions.create(
                model=self.model_name, messages=list(messages), **self._request
            )
        reply = whole_reply(completion)
        if reply is None:
            raise BrokenReplyError(self.model_name, "holds no message")
        return reply

    async def astream(self, messages: Sequence[Mapping[str, Any]]) -> AsyncGenerator[ChatReply, None]:
        """The same reply as it is written: pieces of text, then one piece with calls and usage.

        Raises:
            BrokenReplyError: also when the stream ends before the server said that the reply is whole.
        """
        client = await self._connection.client()
        whole = StreamedReply()
        with self._faults():
            stream = await client.chat.completions.create(
                model=self.model_name,
                messages=list(messages),
                stream=True,
                stream_options={"include_usage": True},
                **self._request,
            )
        try:
            chunks = aiter(stream)
            while (chunk := await self._chunk(chunks)) is not None:
                text = whole.take(chunk)
                if text:
                    yield ChatReply(content=text)
        finally:
            await stream.close()
        if not whole.finished:
            raise BrokenReplyError(self.model_name, "was cut off")
        yield whole.rest()

    async def aclose(self) -> None:
        """Close the connection. Calling it again does nothing."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _chunk(self, chunks: Any) -> Any:
        """The next chunk; None after the last."""
        with self._faults(streaming=True):
            return await anext(chunks, None)

    @contextmanager
    def _faults(self, *, streaming: bool = False) -> Iterator[None]:
        """Turn the library's errors into ours; their chains hold requests with the key, so they are cut."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            kind = ModelBusyError if error.status_code in BUSY or error.status_code >= 500 else ModelRequestError
            raise kind(self.model_name, error.status_code, self._words(error)) from None
        except openai.APITimeoutError:
            seconds = self._connection.timeout_seconds
            raise ModelUnreachableError(self.model_name, f"gave no answer within {seconds:g} seconds") from None
        except openai.APIConnectionError as error:
            if streaming:
                raise BrokenReplyError(self.model_name, "was cut off") from None
            cause = type(error.__cause__ or error).__name__
            raise ModelUnreachableError(self.model_name, f"cannot be reached ({cause})") from None
        except (openai.APIError, ValueError) as error:
            raise BrokenReplyError(self.model_name, f"cannot be read ({self._words(error)})") from None

    def _words(self, error: Exception) -> str:
        return clipped(collapsed(self._connection.redacted(str(error))), limit_bytes=1024)


def _choice(tool_choice: Any) -> Any:
    """A choice in the API's form: a bare tool name is spelled out."""
    if isinstance(tool_choice, str) and tool_choice not in ("auto", "none", "required"):
        return {"type": "function", "function": {"name": tool_choice}}
    return tool_choice
