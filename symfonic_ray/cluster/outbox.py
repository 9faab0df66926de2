"""Replies that wait in a host until their courier fetches them. Knows no child, no wire, no actor.

A courier fetches with plain calls, one at a time, each of which takes all there is: a stream of replies costs about
twice as much in Ray for each group.
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

    def put(self, reply: ReplyRow) -> None:
        """Put in a reply that is owed."""
        self.owed -= 1
        self._ended.append(reply)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def taken(self) -> list[ReplyRow]:
        """All replies there are, taken out."""
        ended, self._ended = self._ended, []
        return ended

    async def some(self, *, coalesce_seconds: float) -> list[ReplyRow]:
        """Replies, waited for within bounds; none when there were none in time.

        Args:
            coalesce_seconds: how long a first reply waits for others, where others are owed.
        """
        if not self._ended:
            self._news = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(FETCH_SECONDS if self.owed else NOTHING_OWED_SECONDS):
                    await self._news
            self._news = None
        if self._ended and self.owed:
            await asyncio.sleep(coalesce_seconds)
        return self.taken()
