"""The one thread that starts and stops Ray. Knows no address and no option.

Ray binds the processes it starts to the life of the thread that started them, so it must live from start to stop. It
is a daemon: a call that Ray never returns from must not keep the interpreter from ending.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class RayThread:
    """Does blocking calls in order, in a thread of its own."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._main, name="ray-start-stop", daemon=True).start()

    async def do(self, call: Callable[[], Any], seconds: float) -> Any:
        """What ``call`` gives or raises.

        Raises:
            TimeoutError: after ``seconds``; the call goes on, and later ones wait for it.
        """
        loop = asyncio.get_running_loop()
        settled: asyncio.Future[Any] = loop.create_future()

        def work() -> None:
            try:
                result, error = call(), None
            except BaseException as raised:
                result, error = None, raised
            try:
                loop.call_soon_threadsafe(_settle, settled, result, error)
            except RuntimeError:  # the loop has ended meanwhile: nobody waits
                return

        self._work.put(work)
        done, _ = await asyncio.wait((settled,), timeout=seconds)
        if not done:
            raise TimeoutError
        return settled.result()

    def later(self, call: Callable[[], Any]) -> None:
        """Do ``call`` after what the thread has; nobody hears how it went."""

        def work() -> None:
            with suppress(Exception):
                call()

        self._work.put(work)

    def end(self) -> None:
        """Let the thread end after what it has."""
        self._work.put(None)

    def _main(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _settle(settled: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if settled.done():
        return
    if error is None:
        settled.set_result(result)
    else:
        settled.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
