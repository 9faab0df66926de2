"""Carries hand-offs from one caller to one child of one host. Knows no deadline: who waits keeps the time.

What is waiting goes together. It flushes once a loop tick; a lone hand-off with nothing out goes as a plain actor call
and costs what Ray costs; otherwise a batch goes as one call, which stays out until replies are in, of its own batch or
of another. Two calls are out at most. A host lets the earlier go back when a later one stays, and the later one leaves
once the earlier has been out for as long as the host takes for quick work: so arrivals gather for the time of a call
and never until another hand-off ENDS: that would hold a quick one behind a slow one, and
would deadlock a child that calls back. With replies owed and nothing to send, an empty call stays out instead. Replies
come in groups, in the order of their end, matched by call id; the grouping is where the throughput comes from
(docs/decisions/0002-courier.md).
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

from symfonic_ray.cluster.envelope import (
    Address,
    EnvelopeError,
    HandOffRow,
    ReplyRow,
    open_replies,
    seal_batch,
)
from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.remote_call import CallLostError
from symfonic_ray.kernel import new_run_id

CALLS = 2  # out at once: the host works on the batch of one while replies of the other are read
BATCH_ITEMS = 128  # 256 in flight in one batch let caller and host take turns: two thirds of the throughput
GATHER_ITEMS = 64  # a second batch of so many waits for nothing
GATHER_SECONDS = 0.02  # longest time it gathers
BATCH_BYTES = 1 << 20  # 20 KB tasks: 976/s at 64 KiB, 1,563 at 256 KiB, 2,098 at 1 MiB (dispatch-notes 2e)

Landing = Callable[[ReplyRow | Exception], None]

_CALLER = new_run_id()[:16]  # call ids of two processes never meet
_NUMBERS = itertools.count(1)


def new_call_id() -> str:
    """An id that no other call has, of this process or another."""
    return f"{_CALLER}-{next(_NUMBERS):x}"


class OverdueError(TimeoutError):
    """A reply that did not come in time; its runner turns it into a record."""

    def __str__(self) -> str:
        return "no reply came in time"


class Parcel:
    """One hand-off with the courier. ``land`` hears once of its reply, or of what was raised instead."""

    __slots__ = ("_land", "expires_at", "row", "size")

    def __init__(self, row: HandOffRow, size: int, expires_at: float) -> None:
        self.row = row
        self.size = size
        """Bytes of the task on the wire."""
        self.expires_at = expires_at
        """Seconds on the loop's clock; what is left is written into the row when it leaves."""
        self._land: Landing | None = None

    def hear(self, land: Landing) -> None:
        """Tell ``land`` the outcome of the next sending."""
        self._land = land

    def land(self, outcome: ReplyRow | Exception) -> None:
        """Tell the outcome; only the first one is heard."""
        land, self._land = self._land, None
        if land is not None:
            land(outcome)

    def expire(self) -> None:
        """Land an ``OverdueError``, unless a reply was first."""
        self.land(OverdueError())

    def drop(self) -> None:
        """Let nobody hear of it any more."""
        self._land = None


class Courier:
    """The way from this process to one child of one host; belongs to one event loop."""

    def __init__(self, handle: Any, address: Address, *, key: bytes) -> None:
        self._run = handle.run
        self._accept = handle.accept
        self._fetch = handle.fetch
        self._cancel = handle.cancel
        self._address = address
        self._key = key
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Parcel] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushing = False
        self.load = 0
        """Hand-offs without a reply; for choosing among replicas."""
        self.last_used = self._loop.time()
        """When something was last sent or heard, on the loop's clock."""
        self._id = new_call_id()
        self._left_at = 0.0
        """When a batch last left, on the loop's clock."""
        self._turn_seconds = 0.001
        """How long a call that waits for no child is out, as learned."""
        self._alone = 0
        """Plain calls out."""
        self._out = 0
        """Calls out that bring any replies: batches and fetches."""
        self._waiting: dict[str, Parcel] = {}
        """Hand-offs that left in a batch, by call id."""
        self._owed: set[str] = set()
        """Those of them that the host has taken."""
        self._stopping: dict[str, asyncio.Future[bool]] = {}

    def send(self, parcel: Parcel) -> None:
        """Take one hand-off; it leaves with this tick's others."""
        self.load += 1
        self._queue.append(parcel)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def withdraw(self, parcel: Parcel) -> bool:
        """Take back a hand-off that has not left yet; False when it has."""
        try:
            self._queue.remove(parcel)
        except ValueError:
            return False
        self.load -= 1
        return True

    async def stop(self, call_id: str, grace_seconds: float) -> bool:
        """Ask the host to stop one call, together with others asked in this tick; whether it still runs.

        Raises:
            CallLostError: if the control call failed.
        """
        if not self._stopping:
            self._loop.call_soon(self._send_stops, grace_seconds)
        answer: asyncio.Future[bool] = self._loop.create_future()
        self._stopping[call_id] = answer
        return await answer

    def _send_stops(self, grace_seconds: float) -> None:
        asked, self._stopping = self._stopping, {}
        self._spawn(self._stopped(asked, grace_seconds))

    async def _stopped(self, asked: dict[str, asyncio.Future[bool]], grace_seconds: float) -> None:
        try:
            running = await self._cancel.remote(self._address.child, tuple(asked), grace_seconds)
        except Exception as error:
            for answer in asked.values():
                if not answer.done():
                    answer.set_exception(CallLostError(classify(error)))
            return
        for call_id, answer in asked.items():
            if not answer.done():
                answer.set_result(call_id in running)

    def _flush(self) -> None:
        self._flushing = False
        while self._queue and self._out < CALLS:
            if self._out and len(self._queue) < GATHER_ITEMS and self._gathers():
                break
            batch = self._taken()
            self.last_used = self._left_at = self._loop.time()
            try:
                data = self._sealed(batch)
            except Exception as error:  # nothing of it has left: each one hears of it
                self._fail({parcel.row.call_id: parcel for parcel in batch}, error)
                continue
            if len(batch) == 1 and not self._alone and not self._waiting:
                self._alone += 1
                self._spawn(self._plain(batch[0], data))
            else:
                self._out += 1
                for parcel in batch:
                    self._waiting[parcel.row.call_id] = parcel
                self._spawn(self._handed({parcel.row.call_id for parcel in batch}, data))
        if self._owed and not self._out:
            self._out += 1
            self._spawn(self._handed(set(), b""))

    def _gathers(self) -> bool:
        """Whether the call that is out may well be back in a moment, its replies bringing more to send."""
        until = self._left_at + min(2 * self._turn_seconds, GATHER_SECONDS)
        if until <= self._loop.time():
            return False
        if not self._flushing:
            self._flushing = True
            self._loop.call_at(until, self._flush)
        return True

    def _turned(self, left_at: float) -> None:
        """Learn how long the host takes to let a call go, whatever its children do."""
        now = self._loop.time()
        took = now - max(left_at, self._left_at)  # a later call had this one go back
        if took < GATHER_SECONDS:  # else it waited for a child
            self._turn_seconds += (took - self._turn_seconds) / 4

    def _taken(self) -> list[Parcel]:
        batch: list[Parcel] = []
        size = 0
        while self._queue and len(batch) < BATCH_ITEMS:
            size += self._queue[0].size
            if batch and size > BATCH_BYTES:
                break
            batch.append(self._queue.popleft())
        return batch

    def _sealed(self, batch: list[Parcel]) -> bytes:
        now = self._loop.time()
        for parcel in batch:
            parcel.row.seconds_left = max(0.0, parcel.expires_at - now)
        return seal_batch(self._address, [parcel.row for parcel in batch], key=self._key)

    async def _plain(self, parcel: Parcel, data: bytes) -> None:
        waiting = {parcel.row.call_id: parcel}
        try:
            self._settle(open_replies(await self._run.remote(data), address=self._address), waiting)
        except Exception as error:
            self._fail(waiting, error)
        finally:
            self._alone -= 1
            self._fail(waiting, EnvelopeError("serialization", "the host answered, but not for this call"))

    async def _handed(self, sent: set[str], data: bytes) -> None:
        """One call that brings replies: with a batch, or empty to fetch what is owed."""
        left_at = self._loop.time()
        try:
            self._hear(await (self._accept.remote(self._id, data) if sent else self._fetch.remote(self._id)))
        except Exception as error:
            self._lose(sent or set(self._owed), error)
        self._out -= 1  # not where this task is cancelled: its loop ends then, and nothing is sent any more
        self._turned(left_at)
        self._owed |= sent & self._waiting.keys()
        self._flush()

    def _hear(self, group: bytes) -> None:
        """Settle what came; empty when nothing did."""
        if not group:
            return
        try:
            replies = open_replies(group, address=self._address)
        except EnvelopeError as error:  # whose replies these were nobody can tell, and they come only once
            self._lose(set(self._waiting), error)
            return
        self._settle(replies, self._waiting)
        if self._owed:
            self._owed.difference_update([reply.call_id for reply in replies])

    def _lose(self, call_ids: set[str], error: Exception) -> None:
        self._owed -= call_ids
        lost = [call_id for call_id in self._waiting if call_id in call_ids]  # in the order in which they left
        self._fail({call_id: self._waiting.pop(call_id) for call_id in lost}, error)

    def _settle(self, replies: list[ReplyRow], waiting: dict[str, Parcel]) -> None:
        self.last_used = self._loop.time()
        for reply in replies:
            parcel = waiting.pop(reply.call_id, None)
            if parcel is not None:
                self.load -= 1
                parcel.land(reply)

    def _fail(self, waiting: dict[str, Parcel], error: Exception) -> None:
        lost = tuple(waiting.values())
        waiting.clear()
        for parcel in lost:
            self.load -= 1
            parcel.land(error)

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
