"""Faults that a review found, each kind once: who leaves in the middle, what cannot be packed, what outlives."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cluster import ChildBuildError, Placement, PoolClosedError, PoolLimits
from symfonic_ray.cluster.gate import Gate
from symfonic_ray.cluster.turns import Turns
from symfonic_ray.delegation import DelegationOutcome, PrebuiltChild
from tests.cluster.conftest import PoolMaker, alive, child, host_titles, hosts, until


async def test_a_cancelled_run_does_not_wait_for_the_turn_that_it_gave_back() -> None:
    turns = Turns(1)

    async def giver() -> None:
        async with turns.turn("giver", ()) as turn, turn.given_back():
            await asyncio.sleep(30)

    giving = asyncio.create_task(giver())
    await asyncio.sleep(0.01)
    async with turns.turn("other", ()):
        giving.cancel()
        done, _ = await asyncio.wait((giving,), timeout=0.5)
        assert done
    async with turns.turn("next", ()):
        assert turns.free == 0
    assert turns.free == 1


async def test_a_turn_is_retaken_only_after_the_last_of_several_hand_offs() -> None:
    turns = Turns(1)
    async with turns.turn("run", ()) as turn:

        async def hand_off(seconds: float) -> None:
            async with turn.given_back():
                await asyncio.sleep(seconds)

        both = asyncio.gather(hand_off(0.01), hand_off(0.1))
        await asyncio.sleep(0.05)
        assert not turn.held
        await asyncio.wait_for(turns.take(), 0.5)
        turns.give()
        await both
        assert turn.held


async def test_a_grant_that_meets_a_cancellation_costs_no_slot() -> None:
    gate = Gate(PoolLimits(max_in_flight=1, max_in_flight_per_scope=1))
    assert await gate.enter("acme", 5) is None
    waiting = asyncio.create_task(gate.enter("acme", 5))
    await asyncio.sleep(0.01)
    gate.leave("acme")  # grants, in the very tick of the cancellation
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.counts() == (0, 0)


async def test_slots_come_back_however_often_a_fan_out_s_consumer_is_cancelled(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper", placements={"sleeper": Placement(concurrency=16)})
    async with pool.scope("acme") as fleet:

        async def consume() -> None:
            async for _ in fleet.fan_out([("sleeper", "30") for _ in range(16)], in_flight=16):
                pass

        consuming = asyncio.create_task(consume())
        await asyncio.sleep(0.5)
        assert pool.stats().in_flight == 16
        for _ in range(3):
            consuming.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await consuming
        assert pool.stats().in_flight == 0
        assert (await fleet.delegate("sleeper", "0")).outcome is DelegationOutcome.DELIVERED


async def test_a_fan_out_closed_by_another_task_ends_for_who_waits(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper")

    async def slow_source() -> AsyncIterator[tuple[str, Any]]:
        yield "sleeper", "0"
        await asyncio.sleep(30)
        yield "sleeper", "0"

    async with pool.scope("acme") as fleet:
        for tasks in ([("sleeper", "30")], slow_source()):
            whole = fleet.fan_out(tasks)

            async def all_of(whole: Any = whole) -> list[Any]:
                return [record async for record in whole]

            waiting = asyncio.create_task(all_of())
            await asyncio.sleep(0.3)
            await asyncio.gather(whole.aclose(), whole.aclose())
            records = await asyncio.wait_for(waiting, 2)
            assert len(records) <= 1


async def test_a_source_that_raises_ends_the_fan_out_and_what_it_had_started(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper")

    def tasks() -> Any:
        yield "sleeper", "30"
        raise ValueError("no more")

    async with pool.scope("acme") as fleet:
        with pytest.raises(ValueError, match="no more"):
            async for _ in fleet.fan_out(tasks()):
                pass
        assert pool.stats().in_flight == 0


async def test_a_prebuilt_child_that_exits_is_a_record_alone_and_in_a_fan_out(open_pool: PoolMaker) -> None:
    class Leaves:
        async def run(self, query: str) -> str:
            raise SystemExit(3)

    pool = await open_pool(PrebuiltChild(name="leaves", description="leaves", agent=Leaves()))
    async with pool.scope("acme") as fleet:
        single = await fleet.delegate("leaves", "x")
        many = [record async for record in fleet.fan_out([("leaves", "x"), ("ghost", "x")], ordered=True)]
    assert (single.reason, many[0].reason, many[1].reason) == ("exception", "exception", "unknown_child")
    assert "SystemExit(3)" in single.message


async def test_a_usage_that_cannot_be_packed_costs_neither_the_answer_nor_the_neighbours(open_pool: PoolMaker) -> None:
    pool = await open_pool("odd_usage", placements={"odd_usage": Placement(concurrency=8)})
    async with pool.scope("acme") as fleet:
        tasks = [("odd_usage", name) for name in ("fine", "deep", "surrogate", "fine")]
        records = [record async for record in fleet.fan_out(tasks, ordered=True)]
    assert [record.message for record in records] == ["fine", "deep", "surrogate", "fine"]
    assert [record.usage for record in records] == [{"total_tokens": 3}, None, None, {"total_tokens": 3}]


async def test_a_task_that_outlives_its_run_hands_nothing_on(open_pool: PoolMaker) -> None:
    placements = {name: Placement(delegates_to=("echo",)) for name in ("escapes", "resets")}
    pool = await open_pool("escapes", "resets", "echo", placements=placements)
    async with pool.scope("acme") as fleet:
        await fleet.delegate("escapes", "go")
        await asyncio.sleep(0.6)
        assert (await fleet.delegate("escapes", "told")).message == "child_failed:shutting_down"
        assert (await fleet.delegate("resets", "go")).message == "child_failed:depth"


async def test_a_held_scope_outlives_a_newcomer_whose_child_cannot_be_built_again(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    pool = await open_pool("dies_in_build", "memo")
    scope = {"folder": str(tmp_path)}
    async with pool.scope(scope) as fleet:
        await fleet.delegate("memo", "k=1")
        found = await hosts(pool.name, 2)
        pid = next(pid for title, pid in found.items() if title.endswith("dies_in_build"))
        os.kill(pid, signal.SIGKILL)
        assert await until(lambda: not alive(pid), 5)
        with pytest.raises(ChildBuildError, match="once is enough"):
            async with pool.scope(scope):
                pass
        assert (await fleet.delegate("memo", "k")).message.endswith(":1")


async def test_a_child_that_never_builds_is_quarantined_across_entries(open_pool: PoolMaker) -> None:
    pool = await open_pool("build_raises")
    reasons = []
    for _ in range(5):
        with pytest.raises(ChildBuildError) as caught:
            async with pool.scope("acme"):
                pass
        reasons.append(caught.value.reason)
    assert reasons == ["build_failed"] * 3 + ["quarantined"] * 2


async def test_a_pool_closed_during_a_first_entry_leaves_no_process(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")

    async def enter() -> None:
        async with pool.scope("acme"):
            await asyncio.sleep(30)

    entering = asyncio.create_task(enter())
    await asyncio.sleep(0.05)
    await pool.close()
    with pytest.raises((PoolClosedError, ChildBuildError)):
        await asyncio.wait_for(entering, 10)
    assert await until(lambda: host_titles(pool.name) == {}, 5)


async def test_a_scope_whose_children_were_closed_one_by_one_is_made_anew(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")
    async with pool.scope("acme") as fleet:
        await fleet.delegate("memo", "k=1")
        await fleet.delegation.shutdown()
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("memo", "k")
    assert (record.message, record.fresh) == ("acme:nothing known", True)


async def test_nothing_of_a_child_s_making_or_a_tenant_s_name_shows_in_a_plan(open_pool: PoolMaker) -> None:
    pool = await open_pool(child("echo"), placements={"echo": Placement(runtime_env={"env_vars": {"A": "s3cr3t"}})})
    shown = repr(pool._plan)
    assert "s3cr3t" not in shown
    assert "parcel" not in shown
    assert pool._plan.key.hex() not in shown
    assert repr(pool._plan.key) not in shown
