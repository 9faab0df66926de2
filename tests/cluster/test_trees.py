"""Trees of runs through real actors: they end, whatever crosses or comes back, and nothing runs on below a lost run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

from symfonic_ray.cluster import Placement, PoolLimits
from symfonic_ray.delegation import DelegationOutcome
from tests.cluster.conftest import PoolMaker, hosts, until


async def test_a_child_that_hands_on_to_itself_is_ended_by_the_ceiling(open_pool: PoolMaker) -> None:
    pool = await open_pool("fan", max_depth=3, placements={"fan": Placement(delegates_to=("fan",))})
    async with pool.scope("acme") as fleet:
        records = await asyncio.gather(*(fleet.delegate("fan", "go", timeout_seconds=60) for _ in range(3)))
    total: dict[str, int] = {}
    for record in records:
        assert record.outcome is DelegationOutcome.DELIVERED, record.message
        for depth, count in json.loads(record.message).items():
            total[depth] = total.get(depth, 0) + count
    assert total == {"1": 3, "2": 9, "3": 27, "refused": 81}


async def test_trees_that_cross_never_wait_for_each_other_for_ever(open_pool: PoolMaker) -> None:
    placements = {"left": Placement(delegates_to=("right",)), "right": Placement(delegates_to=("left",))}
    pool = await open_pool("left", "right", max_depth=4, placements=placements)
    async with pool.scope("acme") as fleet:
        records = await asyncio.gather(
            *(fleet.delegate(name, "3", timeout_seconds=60) for _ in range(15) for name in ("left", "right"))
        )
    assert [record.message for record in records] == ["3 2 1 0"] * 30


async def test_what_a_lost_run_had_handed_on_is_stopped(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("caller", "sleeper", placements={"caller": Placement(delegates_to=("sleeper",))})
    file = tmp_path / "lines"
    async with pool.scope("acme") as fleet:
        pids = await hosts(pool.name, 2)
        pid = next(pid for title, pid in pids.items() if title.endswith("caller"))
        running = asyncio.create_task(fleet.delegate("caller", json.dumps([["sleeper", f"write {file} 30"]])))
        assert await until(file.exists, 10)
        os.kill(pid, signal.SIGKILL)
        record = await running
        assert record.reason == "actor_died"
        await asyncio.sleep(0.5)
        size = file.stat().st_size
        await asyncio.sleep(0.5)
        assert file.stat().st_size == size
        again = await fleet.delegate("sleeper", "0")
        assert (again.outcome, again.fresh) == (DelegationOutcome.DELIVERED, False)


async def test_a_tenant_that_floods_leaves_the_others_their_share(open_pool: PoolMaker) -> None:
    limits = PoolLimits(max_in_flight=4, max_in_flight_per_scope=4, max_queued_per_scope=400, weights={"gold": 3.0})
    pool = await open_pool("sleeper", placements={"sleeper": Placement(concurrency=8)}, limits=limits)
    started: list[str] = []

    async with pool.scope("flood") as flood, pool.scope("quiet") as quiet, pool.scope("gold") as gold:

        async def one(fleet: object, name: str) -> str:
            record = await fleet.delegate("sleeper", "0.02")  # type: ignore[attr-defined]  # a ScopedFleet
            started.append(name)
            return str(record.reason)

        flooding = [asyncio.create_task(one(flood, "flood")) for _ in range(200)]
        await asyncio.sleep(0.1)
        before = len(started)
        assert await one(quiet, "quiet") == ""
        assert len(started) - before <= 10
        golden = [asyncio.create_task(one(gold, "gold")) for _ in range(90)]
        await asyncio.sleep(0.05)
        mark = len(started)
        await asyncio.gather(*golden)
        share = started[mark:].count("gold") / max(1, started[mark:].count("flood"))
        assert 2.4 <= share <= 3.6
        reasons = await asyncio.gather(*flooding)
        assert set(reasons) == {""}


async def test_a_full_queue_refuses_with_a_hint_and_a_place_in_the_queue_is_told(open_pool: PoolMaker) -> None:
    limits = PoolLimits(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=2)
    pool = await open_pool("sleeper", limits=limits)
    async with pool.scope("acme") as fleet:
        asked = [asyncio.create_task(fleet.delegate("sleeper", "0.3")) for _ in range(4)]
        await asyncio.sleep(0.1)
        stats = pool.stats()
        records = await asyncio.gather(*asked)
    assert (stats.in_flight, stats.queued) == (1, 2)
    assert [record.queue_position for record in records] == [None, 1, 2, None]
    assert [record.outcome for record in records[:3]] == [DelegationOutcome.DELIVERED] * 3
    assert (records[3].outcome, records[3].reason) == (DelegationOutcome.REFUSED_OVERLOAD, "overload")
    assert "try again in" in records[3].message


async def test_a_hand_off_whose_time_runs_out_in_the_admission_queue_never_starts(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    pool = await open_pool("sleeper", limits=PoolLimits(max_in_flight=1, max_in_flight_per_scope=1))
    file = tmp_path / "queued"
    async with pool.scope("acme") as fleet:
        first = asyncio.create_task(fleet.delegate("sleeper", "1.0"))
        await asyncio.sleep(0.1)
        single, cancelled = (
            asyncio.create_task(fleet.delegate("sleeper", f"write {file} 1", timeout_seconds=seconds))
            for seconds in (0.3, 30)
        )
        await asyncio.sleep(0.1)
        cancelled.cancel()
        assert (await single).reason == "timeout"
        assert "queued" in (await single).message
        assert (await first).outcome is DelegationOutcome.DELIVERED
        assert (await fleet.delegate("sleeper", "0")).outcome is DelegationOutcome.DELIVERED
    assert not file.exists()
