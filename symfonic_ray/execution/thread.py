"""One blocking body in a thread of its own. Knows no tool and no outcome.

A daemon thread for each body, and no pool: bodies that wait for one another must all be running, and a body that never
ends must not keep the process from ending. A thread cannot be stopped, so an abandoned body runs on unheard.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ended:
    """How foreign code ended: with a value or with what it raised, never both."""

    value: Any = None
    error: BaseException | None = None


class BodyAbandonedError(RuntimeError):
    """Raised in the body's own thread when nobody waits for it any more; no caller sees it."""


class BodyThread:
    """Runs one blocking function beside the event loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._abandoned = False
        self._wake = threading.Event()
        self._asking: asyncio.Task[None] | None = None

    async def run(self, function: Callable[[], Any]) -> Ended:
        """Run ``function`` in this context and wait for its end; whatever it raises is in the answer.

        Cancelling the wait abandons the body: its thread runs on, and its next ``ask`` raises.
        """
        context = contextvars.copy_context()
        threading.Thread(target=self._work, args=(context, function), name="symfonic-ray tool", daemon=True).start()
        try:
            return await self._ended
        finally:
            self._abandoned = True  # before the wake-up, so that no ask can miss it
            self._wake.set()
            if self._asking is not None:
                self._asking.cancel()

    def ask(self, make: Callable[[], Awaitable[None]]) -> None:
        """From the body's thread: run a coroutine on the loop and block until it is over.

        Raises:
            BodyAbandonedError: when the body was abandoned meanwhile.
        """
        self._wake.clear()
        if not self._abandoned:
            self._loop.call_soon_threadsafe(self._start, make)
            self._wake.wait()
        if self._abandoned:
            raise BodyAbandonedError

    def _start(self, make: Callable[[], Awaitable[None]]) -> None:
        if self._abandoned:
            return
        self._asking = asyncio.ensure_future(_quietly(make))
        self._asking.add_done_callback(lambda _: self._wake.set())

    def _work(self, context: contextvars.Context, function: Callable[[], Any]) -> None:
        try:
            ended = Ended(value=context.run(function))
        except BaseException as error:
            ended = Ended(error=error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._deliver, ended)

    def _deliver(self, ended: Ended) -> None:
        if not self._ended.done():
            self._ended.set_result(ended)


async def _quietly(make: Callable[[], Awaitable[None]]) -> None:
    with suppress(Exception):
        await make()
