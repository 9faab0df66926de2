"""Replies that wait in a host until a call of their courier takes them. Knows no child, no wire, no actor.

A courier leaves a plain call parked here, which takes all there is: a stream of replies costs about twice as much in
Ray for each group.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from symfonic_ray.cluster.envelope import ReplyRow

FETCH_SECONDS = 10.0  # longest wait of one fetch; its courier asks again
NOTHING_OWED_SECONDS = 0.05  # what is missing is in an answer on its way: its courier will know in a moment


class Outbox:
    """The replies to one courier; belongs to one event loop."""

    __slots__ = ("_ended", "_news", "child", "owed", "touched_at")

    def __init__(self, child: str) -> None:
        self.child = child
        """Whose replies these are."""
        self.owed = 0
        """Hand-offs taken whose reply is not in yet."""
        self.touched_at = 0.0
        """When its courier last sent or fetched, on the loop's clock."""
        self._ended: list[ReplyRow] = []
        self._news: asyncio.Future[None] | None = None
        """Of the call that is parked; there is one at most."""

    def put(self, reply: ReplyRow) -> None:
        """Put in a reply that is owed."""
        self.owed -= 1
        self._ended.append(reply)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    @property
    def filled(self) -> bool:
        """Whether any reply is in."""
        return bool(self._ended)

    def taken(self) -> list[ReplyRow]:
        """All replies there are, taken out; with none owed any more, the call that is parked goes back too."""
        ended, self._ended = self._ended, []
        if not self.owed:
            self._relieve()
        return ended

    async def some(self, *, coalesce_seconds: float) -> list[ReplyRow]:
        """Replies, waited for within bounds; none when there were none in time, or when a later call waits instead.

        Args:
            coalesce_seconds: how long a first reply waits for others, where others are owed.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + (FETCH_SECONDS if self.owed else NOTHING_OWED_SECONDS)
        while not self._ended and loop.time() < until:
            self._relieve()
            news = self._news = loop.create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await news
            if self._news is not news:  # a later call waits instead
                break
            self._news = None
            if not self.owed:
                break
            if self._ended:
                await asyncio.sleep(coalesce_seconds)  # a call that comes meanwhile may take them
        return self.taken()

    def _relieve(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
