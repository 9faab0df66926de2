"""Whose turn it is in one child instance. Counts and queues only: knows no agent, no host, no clock.

At most ``concurrency`` runs hold a turn. A run that comes back to the instance from further down its own tree is let
through without one, since the turn it would wait for is held by its own ancestor. Ancestors alone do not help two
TREES that cross, so a run on a cycle gives its turn back while it waits for a child, and then queues to retake it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turn:
    """One run's presence in an instance: ``enter`` or ``wait``, then ``leave``; or an ``async with`` block."""

    __slots__ = ("_ancestors", "_counted", "_out", "_run_id", "_turns", "held")

    def __init__(self, turns: Turns, run_id: str, ancestors: tuple[str, ...]) -> None:
        self._turns = turns
        self._run_id = run_id
        self._ancestors = ancestors
        self._counted = False
        self._out = 0
        self.held = False
        """Whether it is a turn at all: a run with an ancestor present is let through without one."""

    def enter(self) -> bool:
        """Come in at once where that is possible; False where the run has to ``wait``."""
        turns = self._turns
        if turns.present.isdisjoint(self._ancestors):
            if turns.free <= 0:
                return False
            turns.free -= 1
            self.held = self._counted = True
        turns.present.add(self._run_id)
        return True

    async def wait(self) -> None:
        """Come in once there is a turn; one that is cancelled before has not come in."""
        await self._turns.take()
        self.held = self._counted = True
        self._turns.present.add(self._run_id)

    def leave(self) -> None:
        """Go, and hand the turn on."""
        self._turns.present.discard(self._run_id)
        if self.held:
            self._turns.give()

    async def __aenter__(self) -> Turn:
        if not self.enter():
            await self.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    @asynccontextmanager
    async def given_back(self) -> AsyncIterator[None]:
        """Let others have this turn for a block, and queue for it again at its end; a turn not held stays so.

        Several blocks at once give it back at the first and retake it after the last: retaken while one is still
        open, it would be held by a run that waits. A block that is cancelled retakes nothing: its run is leaving, and
        must not wait behind others to do so.
        """
        if not self._counted:
            yield
            return
        self._out += 1
        if self.held:
            self.held = False
            self._turns.give()
        try:
            yield
        except asyncio.CancelledError:
            self._out -= 1
            raise
        except BaseException:
            await self._returned()
            raise
        await self._returned()

    async def _returned(self) -> None:
        self._out -= 1
        if self._out == 0 and not self.held:
            await self._turns.take()
            self.held = True


class Turns:
    """Turns of one instance, granted in the order of asking. Belongs to one event loop."""

    def __init__(self, concurrency: int) -> None:
        self.free = concurrency
        self.present: set[str] = set()
        """Runs inside now, by id."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def turn(self, run_id: str, ancestors: tuple[str, ...]) -> Turn:
        """A turn to hold for an ``async with`` block."""
        return Turn(self, run_id, ancestors)

    async def take(self) -> None:
        """Wait for a free turn and take it."""
        if self.free > 0:
            self.free -= 1
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
        self.free += 1
