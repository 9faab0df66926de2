"""What a failing, dying or stuck child leaves behind on a real Ray: one record each, and a host that goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from symfonic_ray.cluster import Placement
from symfonic_ray.delegation import DelegationOutcome
from tests.cluster.children import FAULTS
from tests.cluster.conftest import PoolMaker, alive, hosts, until


async def test_any_exception_of_a_child_is_one_line_and_its_host_takes_the_next_task(open_pool: PoolMaker) -> None:
    pool = await open_pool("faulty")
    async with pool.scope("acme") as fleet:
        (pid,) = (await hosts(pool.name, 1)).values()
        for fault in FAULTS:
            record = await fleet.delegate("faulty", fault, timeout_seconds=20)
            assert record.outcome is DelegationOutcome.CHILD_FAILED, fault
            assert record.reason == ("cancelled" if fault == "cancelled" else "exception"), (fault, record)
            assert len(record.message.encode()) <= 4096
            assert len(record.message.splitlines()) == 1
            assert "\x1b" not in record.message
            assert record.run_id
        for inner in ("task:exit", "task:interrupt"):
            record = await fleet.delegate("faulty", inner, timeout_seconds=20)
            assert record.reason == "exception", inner
        last = await fleet.delegate("faulty", "last")
        assert last.message == "fine last"
        assert list((await hosts(pool.name, 1)).values()) == [pid]
    assert os.getpid() > 0  # the evil __reduce__ would have killed this process


async def test_a_child_killed_in_mid_call_is_one_record_and_its_siblings_are_unharmed(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper", "echo")
    async with pool.scope("acme") as fleet:
        pid = next(pid for title, pid in (await hosts(pool.name, 2)).items() if title.endswith("sleeper"))
        sleeping = asyncio.create_task(fleet.delegate("sleeper", "30"))
        sibling = asyncio.create_task(fleet.delegate("echo", "hello"))
        await asyncio.sleep(0.3)
        killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        record = await sleeping
        seconds = time.monotonic() - killed
        assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "actor_died")
        assert "outcome unknown" in record.message
        assert record.run_id
        assert seconds < 1.0
        assert (await sibling).outcome is DelegationOutcome.DELIVERED
        again = await fleet.delegate("sleeper", "0")
        assert (again.outcome, again.fresh, again.generation) == (DelegationOutcome.DELIVERED, True, 3)
        assert (await fleet.delegate("sleeper", "0")).fresh is False


async def test_a_child_killed_while_idle_never_answers_from_an_empty_memory_without_a_sign(
    open_pool: PoolMaker,
) -> None:
    pool = await open_pool("memo")
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("memo", "k=1")).outcome is DelegationOutcome.DELIVERED
        (pid,) = (await hosts(pool.name, 1)).values()
        os.kill(pid, signal.SIGKILL)
        record = await fleet.delegate("memo", "k", timeout_seconds=20)
        assert record.reason == "actor_died" or record.fresh
        again = await fleet.delegate("memo", "k", timeout_seconds=20)
        assert again.message == "acme:nothing known"
        assert again.fresh or record.fresh


async def test_entering_a_scope_again_never_meets_a_dead_host(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")
    async with pool.scope("acme") as fleet:
        await fleet.delegate("memo", "k=1")
    (pid,) = (await hosts(pool.name, 1)).values()
    os.kill(pid, signal.SIGKILL)
    assert await until(lambda: not alive(pid), 5)
    async with pool.scope("acme"):
        await hosts(pool.name, 1)


async def test_a_child_that_keeps_dying_is_quarantined_with_a_reason(open_pool: PoolMaker) -> None:
    pool = await open_pool("faulty", "echo")
    async with pool.scope("acme") as fleet:
        reasons = [(await fleet.delegate("faulty", "die")).reason for _ in range(5)]
        last = await fleet.delegate("faulty", "fine")
        other = await fleet.delegate("echo", "x")
    assert reasons[:3] == ["actor_died"] * 3
    assert reasons[3:] == ["quarantined"] * 2
    assert (last.reason, last.outcome) == ("quarantined", DelegationOutcome.CHILD_FAILED)
    assert other.outcome is DelegationOutcome.DELIVERED


async def test_cancelling_the_caller_stops_the_child_and_leaves_no_record(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("sleeper")
    file = tmp_path / "lines"
    async with pool.scope("acme") as fleet:
        ended: list[object] = []
        fleet.observe(lambda event: ended.append(event) if hasattr(event, "record") else None)
        running = asyncio.create_task(fleet.delegate("sleeper", f"write {file} 20"))
        assert await until(file.exists, 10)
        asked = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - asked < 2.0
        size = file.stat().st_size
        await asyncio.sleep(0.5)
        assert file.stat().st_size == size
        assert ended == []
        again = await fleet.delegate("sleeper", "0")
        assert (again.outcome, again.fresh) == (DelegationOutcome.DELIVERED, False)


async def test_cancelling_the_root_reaches_the_grandchild(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("caller", "sleeper", placements={"caller": Placement(delegates_to=("sleeper",))})
    file = tmp_path / "lines"
    async with pool.scope("acme") as fleet:
        task = json.dumps([["sleeper", f"write {file} 20"]])
        running = asyncio.create_task(fleet.delegate("caller", task))
        assert await until(file.exists, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0.3)
        size = file.stat().st_size
        await asyncio.sleep(0.5)
        assert file.stat().st_size == size


async def test_time_that_runs_out_stops_the_work_and_not_only_the_waiting(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("sleeper", "Blocking", "wedged")
    polite, blocking = tmp_path / "polite", tmp_path / "blocking"
    async with pool.scope("acme") as fleet:
        for name, task, file in (
            ("sleeper", f"write {polite} 20", polite),
            ("Blocking", f"{blocking} 20", blocking),
            ("wedged", "20", None),
        ):
            asked = time.monotonic()
            record = await fleet.delegate(name, task, timeout_seconds=0.5)
            assert record.reason == "timeout", record
            assert "0.5 seconds" in record.message
            assert time.monotonic() - asked < 2.5, name
            if file is not None:
                await asyncio.sleep(1.0)
                size = file.stat().st_size if file.exists() else 0
                await asyncio.sleep(0.5)
                assert (file.stat().st_size if file.exists() else 0) == size, name
        assert (await fleet.delegate("sleeper", "0")).fresh is False
        assert (await fleet.delegate("Blocking", f"{tmp_path / 'b2'} 0.1")).fresh is True
        assert (await fleet.delegate("wedged", "0")).fresh is True


async def test_a_call_whose_time_runs_out_in_the_queue_never_starts(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("sleeper")
    file = tmp_path / "queued"
    async with pool.scope("acme") as fleet:
        first = asyncio.create_task(fleet.delegate("sleeper", "1.5"))
        await asyncio.sleep(0.2)
        queued = await fleet.delegate("sleeper", f"write {file} 1", timeout_seconds=0.4)
        assert queued.reason == "timeout"
        assert (await first).message == "slept 1.5"
        await asyncio.sleep(0.5)
    assert not file.exists()


async def test_a_write_tool_added_later_refuses_the_run_where_the_palette_is(open_pool: PoolMaker) -> None:
    pool = await open_pool("arms_later")
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("arms_later", "arm")).message == "runs=1"
        record = await fleet.delegate("arms_later", "x")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "lockdown")
    assert "Memory_Block_Append" in record.message


async def test_a_lost_controller_is_told_from_a_lost_child(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper")
    async with pool.scope("acme") as fleet:
        running = asyncio.create_task(fleet.delegate("sleeper", "30"))
        await asyncio.sleep(0.3)
        pid = await pool._controller.ping.remote()
        os.kill(pid, signal.SIGKILL)
        record = await asyncio.wait_for(running, 5)
        later = await fleet.delegate("sleeper", "0", timeout_seconds=5)
    assert record.reason == "controller_lost"
    assert later.reason == "controller_lost"
