"""Replies wait for their courier, come all together, and nobody waits for them without a bound. No Ray here."""

from __future__ import annotations

import asyncio

import pytest

from symfonic_ray.cluster import outbox as outbox_module
from symfonic_ray.cluster.envelope import ReplyRow
from symfonic_ray.cluster.outbox import Outbox


def owing(count: int) -> Outbox:
    outbox = Outbox("reader")
    outbox.owed = count
    return outbox


async def test_what_is_in_comes_at_once_and_in_the_order_of_its_end() -> None:
    outbox = owing(2)
    for call_id in ("b", "a"):
        outbox.put(ReplyRow(call_id))
    assert [reply.call_id for reply in await outbox.some(coalesce_seconds=60)] == ["b", "a"]
    assert (outbox.owed, outbox.taken()) == (0, [])


async def test_a_first_reply_waits_a_moment_for_others_that_are_owed() -> None:
    outbox = owing(3)
    fetching = asyncio.create_task(outbox.some(coalesce_seconds=0.05))
    await asyncio.sleep(0)
    outbox.put(ReplyRow("a"))
    await asyncio.sleep(0)
    outbox.put(ReplyRow("b"))
    assert [reply.call_id for reply in await fetching] == ["a", "b"]
    assert outbox.owed == 1


async def test_a_fetch_ends_without_replies_when_none_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "FETCH_SECONDS", 0.02)
    outbox = owing(1)
    assert await outbox.some(coalesce_seconds=0) == []
    outbox.put(ReplyRow("late"))
    assert [reply.call_id for reply in await outbox.some(coalesce_seconds=0)] == ["late"]


async def test_a_fetch_of_what_nobody_owes_does_not_wait_long() -> None:
    async with asyncio.timeout(5):
        assert await owing(0).some(coalesce_seconds=0) == []


async def test_a_later_call_lets_the_one_before_it_go_back_empty() -> None:
    outbox = owing(1)
    earlier = asyncio.create_task(outbox.some(coalesce_seconds=0))
    await asyncio.sleep(0)
    later = asyncio.create_task(outbox.some(coalesce_seconds=0))
    async with asyncio.timeout(5):
        assert await earlier == []
        assert not later.done()
        outbox.put(ReplyRow("a"))
        assert [reply.call_id for reply in await later] == ["a"]


async def test_with_nothing_owed_any_more_the_call_that_waits_goes_back() -> None:
    outbox = owing(1)
    waiting = asyncio.create_task(outbox.some(coalesce_seconds=60))
    await asyncio.sleep(0)
    outbox.put(ReplyRow("quick"))
    assert [reply.call_id for reply in outbox.taken()] == ["quick"]
    async with asyncio.timeout(5):
        assert await waiting == []


async def test_a_call_whose_replies_went_with_another_waits_for_the_next_ones() -> None:
    outbox = owing(2)
    waiting = asyncio.create_task(outbox.some(coalesce_seconds=0.02))
    await asyncio.sleep(0)
    outbox.put(ReplyRow("a"))
    await asyncio.sleep(0.001)
    assert [reply.call_id for reply in outbox.taken()] == ["a"]
    await asyncio.sleep(0.04)
    assert not waiting.done()
    outbox.put(ReplyRow("b"))
    async with asyncio.timeout(5):
        assert [reply.call_id for reply in await waiting] == ["b"]
