"""Results as they end, let go in the order of their tasks. Holds a bounded number back; starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from symfonic_ray.bulk.result import BulkResult


class InOrder:
    """Puts results in order, for indexes that follow each other from 0.

    Args:
        deliver: gets each result in its turn.
        window: how far the tasks may run ahead of the first result that is missing.
    """

    def __init__(self, deliver: Callable[[BulkResult], None], *, window: int) -> None:
        self._deliver = deliver
        self._window = window
        self._admitted = 0
        self._next = 0
        self._held: dict[int, BulkResult] = {}
        self._moved = asyncio.Event()

    async def room(self) -> None:
        """Wait until one more task may start."""
        while self._admitted - self._next >= self._window:
            self._moved.clear()
            await self._moved.wait()
        self._admitted += 1

    def put(self, result: BulkResult) -> None:
        """Take a result; it, and those that waited for it, are delivered when it is their turn."""
        self._held[result.index] = result
        while (due := self._held.pop(self._next, None)) is not None:
            self._deliver(due)
            self._next += 1
            self._moved.set()

    def flush(self) -> None:
        """Deliver what is still held, in order, though something before it is missing."""
        for index in sorted(self._held):
            self._deliver(self._held.pop(index))
