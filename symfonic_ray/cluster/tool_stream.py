"""One share on its way: reads what its worker streams, keeps its calls' time, and stops it. Decides no outcome.

The worker keeps each call's time itself. The clock here is for a worker that cannot: its interpreter is held by the
very call that overran. Whoever leaves early has the share stopped, and waits for that.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import ray

from symfonic_ray.cluster.tool_share import LEFT_BEHIND, Row

OVERDUE_SECONDS = 3.0  # run_call stops a tool in one second at most; the rest is for a loaded machine
STOP_SECONDS = 2.5  # a worker gives its tools 1.5 seconds
KILL_SECONDS = 0.5  # Ray says within some 20 ms that it has ended a process
KILLS = 10

Take = Callable[[list[Row]], Awaitable[None]]


class ShareStream:
    """The rows of one share; belongs to one event loop."""

    def __init__(self, generator: Any, *, take: Take, limits: Mapping[int, float], cooperative: bool) -> None:
        """Take over a stream that Ray has started.

        Args:
            generator: Ray's, of groups of rows. Any: Ray has no types.
            take: told each group; the next one is not read before it returns.
            limits: seconds by place, for the calls that have a limit; their clocks start with ``start_clocks``.
            cooperative: whether the calls can be told to stop; else the worker is ended at once.
        """
        self._generator = generator
        self._take = take
        self._limits = limits
        self._cooperative = cooperative
        self._heard = True
        self._clocks: dict[int, asyncio.TimerHandle] = {}
        self.overdue: set[int] = set()
        """Places whose time ran out unseen by the worker, which was ended for it."""
        self._reader = asyncio.create_task(self._read())

    async def ended(self) -> Exception | None:
        """Wait for the end of the stream; what Ray said of it where it broke.

        Raises:
            asyncio.CancelledError: when the waiting task is cancelled; the share has been stopped then.
        """
        try:
            await asyncio.wait({self._reader})
        except asyncio.CancelledError:
            self._heard = False
            await self._stop()
            raise
        finally:
            for clock in self._clocks.values():
                clock.cancel()
        return self._reader.result()

    def start_clock(self, place: int) -> float | None:
        """Count a call's time from now on; its limit in seconds, None where it has none."""
        seconds = self._limits.get(place)
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._clocks[place] = loop.call_later(seconds + OVERDUE_SECONDS, self._expire, place)
        return seconds

    def stop_clock(self, place: int) -> None:
        """The call has been answered."""
        if (clock := self._clocks.pop(place, None)) is not None:
            clock.cancel()

    def _expire(self, place: int) -> None:
        self.overdue.add(place)
        self._kill()

    def _kill(self) -> None:
        with suppress(Exception):  # Ray is gone, and the worker with it
            ray.cancel(self._generator, force=True)

    async def _read(self) -> Exception | None:
        try:
            async for reference in self._generator:
                rows: list[Row] = pickle.loads(await reference)
                if rows and rows[-1][0] == LEFT_BEHIND:
                    self._kill()
                    rows.pop()
                if self._heard:
                    await self._take(rows)
        except Exception as error:  # all that Ray raises, and what it could not carry
            self._kill()  # where the stream could not be read, the task still runs
            return error
        return None

    async def _stop(self) -> None:
        """End the share: by a word where its calls can hear it, else and at last with its process."""
        if self._cooperative:
            with suppress(Exception):
                ray.cancel(self._generator, force=False)
            await asyncio.wait({self._reader}, timeout=STOP_SECONDS)
        for _ in range(KILLS):  # one that meets a task on its way to a worker may be lost, and the task would run
            if self._reader.done():
                return
            self._kill()
            await asyncio.wait({self._reader}, timeout=KILL_SECONDS)
        self._reader.cancel()
