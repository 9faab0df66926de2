"""The courier over a made-up host: what it sends together, and that every hand-off hears once. No Ray here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.cluster.courier import BATCH_ITEMS, Courier, Parcel, new_call_id
from symfonic_ray.cluster.envelope import (
    Address,
    EnvelopeError,
    HandOffRow,
    ReplyRow,
    open_batch,
    pack_replies,
)

KEY = b"k" * 32
ADDRESS = Address("acme", "reader", 1)


class Call:
    """A remote method."""

    def __init__(self, body: Callable[..., Awaitable[Any]]) -> None:
        self.remote = body


class Host:
    """Answers as told, and notes what it was asked."""

    def __init__(self) -> None:
        self.plain: list[str] = []
        self.batches: list[list[str]] = []
        self.fetches = 0
        self.ready: asyncio.Queue[list[str]] = asyncio.Queue()
        self.accept_answer: Callable[[list[str]], bytes] = self.all_of
        self.gate = asyncio.Event()
        self.gate.set()
        self.handle = SimpleNamespace(
            run=Call(self.run), accept=Call(self.accept), fetch=Call(self.fetch), cancel=Call(self.run)
        )

    def all_of(self, call_ids: list[str]) -> bytes:
        return pack_replies(ADDRESS, [ReplyRow(call_id, final_response="done") for call_id in call_ids])

    async def run(self, data: bytes) -> bytes:
        _, rows = open_batch(data, key=KEY)
        self.plain += [row.task for row in rows]
        await self.gate.wait()
        return self.all_of([row.call_id for row in rows])

    async def accept(self, courier: str, data: bytes) -> bytes:
        _, rows = open_batch(data, key=KEY)
        self.batches.append([row.task for row in rows])
        await self.gate.wait()
        return self.accept_answer([row.call_id for row in rows])

    async def fetch(self, courier: str) -> bytes:
        self.fetches += 1
        call_ids = await self.ready.get()
        return self.all_of(call_ids) if call_ids else b""


def parcels(count: int, heard: dict[str, Any]) -> list[Parcel]:
    made = []
    for number in range(count):
        row = HandOffRow(new_call_id(), f"task {number}", 1, f"r{number}", f"r{number}", None, (), None)
        parcel = Parcel(row, 6, time.monotonic() + 60)

        def land(outcome: ReplyRow | Exception, task: str = row.task) -> None:
            assert task not in heard, "a hand-off hears once"
            heard[task] = outcome

        parcel.hear(land)
        made.append(parcel)
    return made


async def settled(heard: dict[str, Any], count: int) -> None:
    async with asyncio.timeout(5):
        while len(heard) < count:  # noqa: ASYNC110  # what is awaited are callbacks
            await asyncio.sleep(0.001)


async def test_a_lone_hand_off_goes_as_a_plain_call() -> None:
    host, heard = Host(), dict[str, Any]()
    courier = Courier(host.handle, ADDRESS, key=KEY)
    (one,) = parcels(1, heard)
    courier.send(one)
    await settled(heard, 1)
    assert (host.plain, host.batches, courier.load) == (["task 0"], [], 0)


async def test_what_is_sent_in_one_tick_goes_together_and_quick_replies_come_with_the_acceptance() -> None:
    host, heard = Host(), dict[str, Any]()
    courier = Courier(host.handle, ADDRESS, key=KEY)
    for parcel in parcels(5, heard):
        courier.send(parcel)
    await settled(heard, 5)
    assert host.batches == [[f"task {number}" for number in range(5)]]
    assert (host.fetches, courier.load) == (0, 0)


async def test_slow_replies_of_several_batches_come_with_one_fetch() -> None:
    host, heard = Host(), dict[str, Any]()
    asked: list[str] = []
    host.accept_answer = lambda call_ids: asked.extend(call_ids) or b""  # type: ignore[func-returns-value]
    courier = Courier(host.handle, ADDRESS, key=KEY)
    for parcel in parcels(3, heard):
        courier.send(parcel)
    await asyncio.sleep(0.01)
    more = parcels(6, heard)[3:]
    for parcel in more:
        courier.send(parcel)
    await asyncio.sleep(0.01)
    assert [len(batch) for batch in host.batches] == [3, 3]
    assert (host.fetches, courier.load) == (1, 6)
    host.ready.put_nowait(asked)
    await settled(heard, 6)
    assert (host.fetches, courier.load) == (1, 0)


async def test_with_two_calls_out_later_arrivals_wait_for_a_call_and_for_no_reply() -> None:
    host, heard = Host(), dict[str, Any]()
    host.accept_answer = lambda call_ids: b""
    courier = Courier(host.handle, ADDRESS, key=KEY)
    host.gate.clear()
    everything = parcels(8, heard)
    for pair in (everything[:2], everything[2:4], everything[4:6], everything[6:]):
        for parcel in pair:
            courier.send(parcel)
        await asyncio.sleep(0.01)
    assert [len(batch) for batch in host.batches] == [2, 2]
    host.gate.set()
    await asyncio.sleep(0.01)
    assert [len(batch) for batch in host.batches] == [2, 2, 4]
    assert not heard, "nothing has ended, and all has left"
    assert host.fetches == 1, "with all calls back and replies owed, one call waits for them"


@pytest.mark.parametrize("first_call", ["comes back", "stays out"])
async def test_what_comes_soon_after_a_batch_gathers_for_the_time_of_a_call(
    first_call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, heard = Host(), dict[str, Any]()
    courier = Courier(host.handle, ADDRESS, key=KEY)
    host.gate.clear()
    seconds = 60.0 if first_call == "comes back" else 0.05
    monkeypatch.setattr(courier, "_turn_seconds", seconds)
    monkeypatch.setattr("symfonic_ray.cluster.courier.GATHER_SECONDS", seconds)
    everything = parcels(6, heard)
    for pair in (everything[:2], everything[2:4], everything[4:]):
        for parcel in pair:
            courier.send(parcel)
        await asyncio.sleep(0)
    if first_call == "stays out":
        began = time.monotonic()
        while len(host.batches) < 2 and time.monotonic() < began + 5:  # noqa: ASYNC110  # what is awaited is a timer
            await asyncio.sleep(0.005)
        assert not heard
    host.gate.set()
    await settled(heard, 6)
    assert [len(batch) for batch in host.batches] == [2, 4]


async def test_many_go_in_two_batches_side_by_side() -> None:
    host, heard = Host(), dict[str, Any]()
    host.gate.clear()
    courier = Courier(host.handle, ADDRESS, key=KEY)
    count = 3 * BATCH_ITEMS
    for parcel in parcels(count, heard):
        courier.send(parcel)
    await asyncio.sleep(0.01)
    assert [len(batch) for batch in host.batches] == [BATCH_ITEMS, BATCH_ITEMS]
    host.gate.set()
    await settled(heard, count)
    assert sum(len(batch) for batch in host.batches) == count


@pytest.mark.parametrize("when", ["accept", "fetch"])
async def test_a_lost_host_ends_every_hand_off_it_held_once(when: str) -> None:
    host, heard = Host(), dict[str, Any]()

    async def die(*_: Any) -> bytes:
        raise ConnectionError("gone")

    host.accept_answer = lambda call_ids: b""
    setattr(host.handle, when, Call(die))
    courier = Courier(host.handle, ADDRESS, key=KEY)
    for parcel in parcels(20, heard):
        courier.send(parcel)
    await settled(heard, 20)
    assert all(isinstance(outcome, ConnectionError) for outcome in heard.values())
    assert courier.load == 0


async def test_replies_that_cannot_be_read_end_all_that_waits_and_the_next_ones_are_served() -> None:
    host, heard = Host(), dict[str, Any]()
    host.accept_answer = lambda call_ids: b"no replies"
    courier = Courier(host.handle, ADDRESS, key=KEY)
    for parcel in parcels(3, heard):
        courier.send(parcel)
    await settled(heard, 3)
    assert all(isinstance(outcome, EnvelopeError) for outcome in heard.values())
    host.accept_answer = host.all_of
    later: dict[str, Any] = {}
    for parcel in parcels(3, later):
        courier.send(parcel)
    await settled(later, 3)
    assert [reply.final_response for reply in later.values()] == ["done"] * 3
    assert (host.fetches, courier.load) == (0, 0)
