"""A run that tells its events as it goes on. Decides nothing of the run; leaving the stream ends the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any

from symfonic_ray.agent.conversation import Conversation
from symfonic_ray.agent.events import AgentEvent, RunEnded, Tell
from symfonic_ray.agent.messages import Message
from symfonic_ray.agent.responses import AgentResponse

EVENTS_AHEAD = 256  # a run that is further ahead of its listener waits for it


class AgentStream:
    """The events of one run: an async iterator that ends after ``RunEnded``, or raises what the run raised.

    Cancelling a wait for the next event cancels the run, and so do ``aclose`` and leaving the ``async with``.
    """

    def __init__(self, conversation: Conversation, start: Callable[[Tell], Coroutine[Any, Any, AgentResponse]]) -> None:
        self._conversation = conversation
        self._start = start
        self._events: asyncio.Queue[AgentEvent] = asyncio.Queue(EVENTS_AHEAD)
        self._run: asyncio.Task[AgentResponse] | None = None
        self._ended = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far; once the run is over, every call in it is answered, however the run ended."""
        return self._conversation.messages

    def __aiter__(self) -> AgentStream:
        return self

    async def __anext__(self) -> AgentEvent:
        if self._ended:
            raise StopAsyncIteration
        if self._run is None:
            self._run = asyncio.create_task(self._start(self._events.put))
        try:
            event = await self._next(self._run)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if event is not None:
            return event
        self._ended = True
        return RunEnded(response=self._run.result())

    async def aclose(self) -> None:
        """End the run where it goes on, and wait until it is over. Calling it again does nothing."""
        self._ended = True
        run = self._run
        if run is None:
            return
        if not run.done():
            run.cancel()
            await asyncio.wait((run,))
        if not run.cancelled():
            run.exception()  # whoever leaves early does not ask for it, and asyncio would complain

    async def __aenter__(self) -> AgentStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        run = self._run
        if run is not None and not run.done():  # nobody listens any more, and the run must not go on unheard
            with suppress(RuntimeError):  # the loop is closed, and the run with it
                run.get_loop().call_soon_threadsafe(run.cancel)

    async def _next(self, run: asyncio.Task[AgentResponse]) -> AgentEvent | None:
        """The next event; None when the run is over and has no more."""
        if self._events.empty() and not run.done():
            coming = asyncio.ensure_future(self._events.get())
            try:
                await asyncio.wait((coming, run), return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    return coming.result()
            finally:
                coming.cancel()
        return None if self._events.empty() else self._events.get_nowait()
