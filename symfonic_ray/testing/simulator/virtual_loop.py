"""An event loop whose clock is a number: it jumps to the next timer when nothing else is left to do.

Knows no child and no fault. Within ``virtual_time`` the ``time`` module tells the same clock, so that code which asks
it for an instant needs no change; one loop of a process at a time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ONE_AT_A_TIME = threading.Lock()
_START = 1_000.0  # an instant of 0.0 would hide a clock that was never read


class StalledError(RuntimeError):
    """Nothing is left that could ever happen, and somebody still waits."""

    def __init__(self, at: float) -> None:
        super().__init__(at)
        self.at = at

    def __str__(self) -> str:
        return f"at {self.at:.3f} s of virtual time everybody waits and nothing can happen any more"


class _Clockwork:
    """Stands where a selector would: instead of waiting for ``timeout`` seconds it lets them pass."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise StalledError(self._loop.time())
        self._loop.pass_time(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs callbacks as asyncio does; seconds pass only where everybody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self._now = _START
        self._selector = _Clockwork(self)
        self._clock_resolution = 1e-6  # timers that differ by rounding ring together

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let ``seconds`` pass at once; timers within them are late, as after a machine slept."""
        self._now += seconds

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

    def _process_events(self, event_list: list[Any]) -> None:
        """Nothing: there are no files and sockets here."""

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
