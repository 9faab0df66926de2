"""A stop reaches every run of its tree, and says what became of each."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from symfonic_ray.cluster import Placement, PoolLimits, RunLimits, StopReceipt
from symfonic_ray.delegation import DelegationOutcome, PrebuiltChild, ScopedChild
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.kernel import new_root
from tests.cluster import tool_bodies
from tests.cluster.conftest import PoolMaker, until

WIDE = Placement(concurrency=64)
STOP_SECONDS = 5.0  # the bar of a confirmed stop


def written(files: Iterable[Path]) -> bool:
    """Whether every file has something in it."""
    return all(file.exists() and file.stat().st_size for file in files)


async def test_a_tree_of_forty_runs_is_stopped_or_killed_whole_and_writes_nothing_more(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    tool_writer = ScopedChild(name="tool_writer", description="waits in a tool", build=tool_bodies.tool_writer)
    leaves = [("sleeper", "write {} 60")] * 5 + [("Blocking", "{} 60")] * 6 + [("tool_writer", "{}")]
    files = [tmp_path / f"{branch}-{leaf}" for branch in range(3) for leaf in range(len(leaves))]
    tasks = iter(files)
    branches = [["stem", json.dumps([[name, form.format(next(tasks))] for name, form in leaves])] for _ in range(3)]
    names = ("stem", "sleeper", "Blocking", "tool_writer")
    pool = await open_pool(
        "stem",
        "sleeper",
        "Blocking",
        tool_writer,
        placements=dict.fromkeys(names[1:], WIDE) | {"stem": Placement(delegates_to=names, concurrency=64)},
    )
    async with pool.scope("acme") as fleet:
        running = asyncio.create_task(fleet.delegation.roster.run("stem", json.dumps(branches), run_id="the-root"))
        assert await until(lambda: written(files), 60), sorted(set(files) - {file for file in files if file.exists()})
        began = time.monotonic()
        receipt = await fleet.cancel("the-root")
        seconds = time.monotonic() - began
        sizes = [file.stat().st_size for file in files]
        with pytest.raises(HandOffFault, match=r"cancelled: .*stopped"):
            await running
        await asyncio.sleep(1.0)
        assert [file.stat().st_size for file in files] == sizes
        assert len(receipt.stopped) + len(receipt.killed) + len(receipt.finished) == 40
        assert len({*receipt.stopped, *receipt.killed, *receipt.finished}) == 40
        assert len(receipt.killed) == 18  # the blocking ones, which cannot be asked
        assert (receipt.finished, receipt.spent_after) == ((), 0)
        assert seconds < STOP_SECONDS
        again = await fleet.delegate("Blocking", f"{tmp_path / 'again'} 0.1")
        assert (again.outcome, again.fresh) == (DelegationOutcome.DELIVERED, True)


async def test_five_hundred_calls_below_a_run_of_the_driver_are_all_stopped(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    limits = PoolLimits(max_in_flight=500, max_in_flight_per_scope=500)
    file = tmp_path / "started"
    pool = await open_pool(
        "noted",
        placements={"noted": Placement(concurrency=500)},
        limits=limits,
        run_limits=RunLimits(max_delegations=600),
    )
    async with pool.scope("acme") as fleet:
        identity = new_root()
        async with fleet.delegation.run_scope(depth=0, identity=identity):
            flying = [asyncio.create_task(fleet.delegate("noted", f"{file} 60")) for _ in range(500)]
            assert await until(lambda: file.exists() and file.stat().st_size == 500, 30)
            began = time.monotonic()
            receipt = await fleet.cancel(identity.run_id)
            records = await asyncio.gather(*flying)
            seconds = time.monotonic() - began
            late = await fleet.delegate("noted", f"{file} 0")
        free = await fleet.delegate("noted", f"{file} 0")
    assert len(receipt.stopped) == 500
    assert (receipt.killed, receipt.finished, receipt.spent_after) == ((), (), 0)
    assert {(record.outcome, record.reason) for record in records} == {(DelegationOutcome.CHILD_FAILED, "cancelled")}
    assert (late.outcome, late.reason) == (DelegationOutcome.CHILD_FAILED, "cancelled")
    assert "not run" in late.message
    assert free.outcome is DelegationOutcome.DELIVERED
    assert seconds < STOP_SECONDS


async def test_a_child_that_is_spawned_after_the_stop_is_born_cancelled(open_pool: PoolMaker, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    pool = await open_pool(
        "stubborn", "sleeper", placements={"stubborn": Placement(delegates_to=("sleeper",)), "sleeper": WIDE}
    )
    async with pool.scope("acme") as fleet:
        beside = asyncio.create_task(fleet.delegate("sleeper", "1.5"))
        identity = new_root()
        async with fleet.delegation.run_scope(depth=0, identity=identity):
            running = asyncio.create_task(fleet.delegate("stubborn", str(file)))
            assert await until(file.exists, 10)
            receipt = await fleet.cancel(identity.run_id)
            record = await running
        assert (await beside).outcome is DelegationOutcome.DELIVERED
    assert file.read_text() == "late: cancelled\n"
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "cancelled")
    assert (receipt.stopped, receipt.killed) == ((record.run_id,), ())


async def test_a_receipt_names_what_had_finished_and_a_tree_that_nobody_knows_has_an_empty_one(
    open_pool: PoolMaker,
) -> None:
    pool = await open_pool("echo")
    async with pool.scope("acme") as fleet:
        identity = new_root()
        async with fleet.delegation.run_scope(depth=0, identity=identity):
            record = await fleet.delegate("echo", "hi")
        receipt = await fleet.cancel(identity.run_id)
        assert await fleet.cancel("ghost") == StopReceipt(root_run_id="ghost")
    assert receipt == StopReceipt(root_run_id=identity.run_id, finished=(record.run_id,))


async def test_a_stop_reaches_children_of_this_process_and_lets_none_of_the_tree_start(open_pool: PoolMaker) -> None:
    class Waiting:
        started = 0

        async def run(self, query: str) -> str:
            Waiting.started += 1
            await asyncio.sleep(float(query))
            return "done"

    pool = await open_pool(PrebuiltChild(name="waiting", description="waits", agent=Waiting()))
    async with pool.scope("acme") as fleet:
        roster = fleet.delegation.roster
        running = asyncio.create_task(roster.run("waiting", "60", run_id="the-root"))
        assert await until(lambda: Waiting.started == 1, 5)
        receipt = await fleet.cancel("the-root")
        assert receipt == StopReceipt(root_run_id="the-root", stopped=("the-root",))
        with pytest.raises(HandOffFault, match=r"cancelled: .*stopped"):
            await running
        with pytest.raises(HandOffFault, match=r"cancelled: .*stopped"):
            await roster.run("waiting", "0", root_run_id="the-root", parent_run_id="the-root")
        assert Waiting.started == 1
        assert (await fleet.delegate("waiting", "0")).outcome.delivered
