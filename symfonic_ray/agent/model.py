"""A chat model as the loop needs it: the port, and one turn of it. Knows no make of model and imports none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol

from symfonic_ray.agent.messages import text_of


class ChatModel(Protocol):
    """What answers a conversation. LangChain's chat models are such models as they are.

    A model that takes tools has ``bind_tools(tools, tool_choice=...)`` besides, which gives the model to be asked, and
    one that streams ``astream(messages)``: an async iterator of replies that ``+`` puts together.
    """

    async def ainvoke(self, messages: Sequence[Any], /) -> Any:
        """Answer ``messages``.

        Args:
            messages: shape (messages,), in the form of the OpenAI API: mappings with ``role`` and ``content``, calls
                in ``tool_calls``. A reply that was a LangChain message comes back as that same object.
        Returns:
            Text, or a message with ``content``, ``tool_calls`` and ``usage_metadata``. Any: makes differ.
        """
        ...


async def asked(model: ChatModel, messages: Sequence[Any], hear: Callable[[str], Awaitable[None]] | None) -> Any:
    """One reply to ``messages``; where somebody hears and the model streams, its text as it is written.

    Raises:
        Exception: whatever the model raises.
    """
    stream = getattr(model, "astream", None)
    if hear is None:
        return await model.ainvoke(messages)
    if not callable(stream):
        reply = await model.ainvoke(messages)
        await _hear(hear, reply)
        return reply
    return await _streamed(stream(messages), hear)


def name_of_model(model: Any) -> str:
    """What a model calls itself; its type where it has no name. Any: models are foreign."""
    for attribute in ("model_name", "model"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(model).__name__


async def _streamed(pieces: AsyncIterator[Any], hear: Callable[[str], Awaitable[None]]) -> Any:
    whole: Any = None
    try:
        async for piece in pieces:
            whole = piece if whole is None else whole + piece
            await _hear(hear, piece)
    finally:
        close = getattr(pieces, "aclose", None)  # a stream that is left halfway holds a connection
        if close is not None:
            await close()
    return whole


async def _hear(hear: Callable[[str], Awaitable[None]], piece: Any) -> None:
    text = piece if isinstance(piece, str) else text_of(getattr(piece, "content", ""))
    if text:
        await hear(text)
