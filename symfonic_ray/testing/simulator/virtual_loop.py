"""An event loop whose clock is a number: it jumps to the next timer when nothing else is left to do.

Knows no child and no fault. Within ``virtual_time`` the ``time`` module tells the same clock, so that code which asks
it for an instant needs no change; one loop of a process at a time.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from heapq import heappop, heappush
from typing import Any

_ONE_AT_A_TIME = threading.Lock()
_RESOLUTION = 1e-6  # timers that differ by rounding ring together
_START = 1_000.0  # an instant of 0.0 would hide a clock that was never read


class StalledError(RuntimeError):
    """Nothing is left that could ever happen, and somebody still waits."""

    def __init__(self, at: float) -> None:
        super().__init__(at)
        self.at = at

    def __str__(self) -> str:
        return f"at {self.at:.3f} s of virtual time everybody waits and nothing can happen any more"


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs callbacks as asyncio does; seconds pass only where everybody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self._now = _START
        self._ready: deque[asyncio.Handle] = deque()
        self._scheduled: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let ``seconds`` pass at once; timers within them are late, as after a machine slept."""
        self._now += seconds

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """As asyncio's, without its checks of threads."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's; of timers for one instant the first that was set rings first."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._scheduled, (when, next(self._numbers), timer))
        return timer

    def _run_once(self) -> None:
        """One round: everything that is ready, or else the next timer; asyncio's own round would ask a selector."""
        ready, timers = self._ready, self._scheduled
        while timers and timers[0][2].cancelled():  # it must not move the clock
            heappop(timers)
        if not ready and not self._stopping:  # type: ignore[attr-defined]  # of the base class
            if not timers:
                raise StalledError(self._now)
            if (seconds := timers[0][0] - self._now) > 0.0:
                self._now += seconds
        end = self._now + _RESOLUTION
        while timers and timers[0][0] < end:
            ready.append(heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Call ``func`` in the loop itself: a thread would bring real time back."""
        done: asyncio.Future[Any] = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except BaseException as error:
                if not done.done():
                    done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
            else:
                if not done.done():
                    done.set_result(result)

        self.call_soon(call)
        return done

    def set_default_executor(self, executor: Any) -> None:
        """Nothing: there are no threads here."""

    def _write_to_self(self) -> None:
        """Nothing: nobody sleeps for real."""


@contextmanager
def virtual_time(loop: VirtualLoop) -> Iterator[None]:
    """Let ``time.monotonic`` and ``time.perf_counter`` tell the clock of ``loop`` for a ``with`` block."""
    with _ONE_AT_A_TIME:
        kept = time.monotonic, time.perf_counter
        time.monotonic = time.perf_counter = loop.time
        try:
            yield
        finally:
            time.monotonic, time.perf_counter = kept
