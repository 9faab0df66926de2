"""``local``: SmolLM2-135M-Instruct on this node's CPU, from a package on disk. No key, no network, no tools.

It is small: it phrases an answer and proves the path from end to end, and is not fit to plan. So it takes no tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any

from symfonic_ray.adapters.chat_completions import ChatCompletions
from symfonic_ray.adapters.chat_reply import ChatReply
from symfonic_ray.adapters.local_lease import ServerLease, leased, model_file
from symfonic_ray.adapters.openai_model import require_openai
from symfonic_ray.kernel.redaction import REDACTED, redacted

MODEL_NAME = "SmolLM2-135M-Instruct"
START_SECONDS = 60.0  # loading takes about 1 s on a free core; a busy node of many hosts needs its time
ANSWER_TOKENS = 512  # about 6 s on 2 cores


class LocalModel:
    """A ``ChatModel`` without tools. The same words always get the same answer.

    Args:
        start_seconds: how long the first use may wait for the server.
        answer_tokens: where an answer is cut off.
    Raises:
        MissingLibraryError: without xllamacpp, openai, or the package of the weights.
    """

    model_name = MODEL_NAME

    def __init__(self, *, start_seconds: float = START_SECONDS, answer_tokens: int = ANSWER_TOKENS) -> None:
        require_openai("local", extra="local")
        model_file()
        self._chat = ChatCompletions(
            MODEL_NAME,
            LeasedConnection(start_seconds),
            options={"temperature": 0, "seed": 0, "max_tokens": answer_tokens},
        )

    async def ainvoke(self, messages: Sequence[Mapping[str, Any]]) -> ChatReply:
        """Answer ``messages``; see ``ChatCompletions.ainvoke``.

        Raises:
            LocalModelError: when the server does not start.
        """
        return await self._chat.ainvoke(messages)

    async def astream(self, messages: Sequence[Mapping[str, Any]]) -> AsyncGenerator[ChatReply, None]:
        """The same answer as it is written; see ``ChatCompletions.astream``."""
        pieces = self._chat.astream(messages)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await pieces.aclose()

    async def aclose(self) -> None:
        """Give up the server, which ends with its last user. Calling it again does nothing."""
        await self._chat.aclose()

    async def __aenter__(self) -> LocalModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class LeasedConnection:
    """A client of this node's server, which is started on first use and found again should it have died."""

    timeout_seconds = 120.0  # four requests at once, each behind the other's prompt, on a slow core

    def __init__(self, start_seconds: float) -> None:
        self._start_seconds = start_seconds
        self._lease: ServerLease | None = None
        self._client: Any = None  # Any: the library is optional
        self._one_at_a_time = asyncio.Lock()

    async def client(self) -> Any:
        """The client, over a lease that holds."""
        async with self._one_at_a_time:
            if self._lease is not None and not self._lease.alive:
                await self.aclose()
            if self._lease is None:
                from openai import AsyncOpenAI, DefaultAsyncHttpxClient

                self._lease = lease = await self._leased()
                self._client = AsyncOpenAI(
                    api_key=lease.api_key,
                    base_url=lease.base_url,
                    timeout=self.timeout_seconds,
                    max_retries=2,
                    http_client=DefaultAsyncHttpxClient(trust_env=False),  # a proxy cannot reach this node's loopback
                )
            return self._client

    async def _leased(self) -> ServerLease:
        finding = asyncio.ensure_future(asyncio.to_thread(leased, model_file(), seconds=self._start_seconds))
        try:
            return await asyncio.shield(finding)
        except asyncio.CancelledError:
            finding.add_done_callback(_give_back)  # the thread goes on, and nobody would close what it finds
            raise

    def redacted(self, text: str) -> str:
        """``text`` without the server's key."""
        return text if self._lease is None else redacted(text, {self._lease.api_key: REDACTED})

    async def aclose(self) -> None:
        """Close the client and give up the lease."""
        client, self._client = self._client, None
        lease, self._lease = self._lease, None
        if client is not None:
            await client.close()
        if lease is not None:
            lease.close()


def _give_back(finding: asyncio.Future[ServerLease]) -> None:
    if not finding.cancelled() and finding.exception() is None:
        finding.result().close()
