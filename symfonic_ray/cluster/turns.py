"""Whose turn it is in one child instance. Counts and queues only: knows no agent, no host, no clock.

At most ``concurrency`` runs hold a turn. A run that comes back to the instance from further down its own tree is let
through without one, since the turn it would wait for is held by its own ancestor. Ancestors alone do not help two
TREES that cross, so a run on a cycle gives its turn back while it waits for a child, and then queues to retake it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turn:
    """One run's presence in an instance."""

    __slots__ = ("_turns", "held")

    def __init__(self, turns: Turns, held: bool) -> None:
        self._turns = turns
        self.held = held
        """False where the run was let through because an ancestor is present."""

    @asynccontextmanager
    async def given_back(self) -> AsyncIterator[None]:
        """Let others have this turn for a block, and queue for it again at its end; a turn not held stays so."""
        if not self.held:
            yield
            return
        self.held = False
        self._turns.give()
        try:
            yield
        finally:
            await self._turns.take()
            self.held = True


class Turns:
    """Turns of one instance, granted in the order of asking. Belongs to one event loop."""

    def __init__(self, concurrency: int) -> None:
        self._free = concurrency
        self._present: Counter[str] = Counter()
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, run_id: str, ancestors: tuple[str, ...]) -> AsyncIterator[Turn]:
        """Hold a turn for a block."""
        held = not any(ancestor in self._present for ancestor in ancestors)
        if held:
            await self.take()
        turn = Turn(self, held)
        self._present[run_id] += 1
        try:
            yield turn
        finally:
            self._present[run_id] -= 1
            if not self._present[run_id]:
                del self._present[run_id]
            if turn.held:
                self.give()

    async def take(self) -> None:
        """Wait for a free turn and take it."""
        if self._free > 0:
            self._free -= 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted in the very tick of the cancellation
                self.give()
            raise

    def give(self) -> None:
        """Hand a turn to whoever has waited longest, or keep it free."""
        while self._waiting:
            granted = self._waiting.popleft()
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1
