"""A pool beside another driver's of the same name, on a machine with one CPU, and after losses of its hosts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ray

from symfonic_ray.cluster import Placement
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord
from tests.cluster.conftest import PoolMaker, until

ROOT = Path(__file__).resolve().parents[2]


async def printed(module: str, *arguments: str) -> Any:
    """The JSON that a program of this folder prints, in a process of its own."""

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", f"tests.cluster.{module}", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)

    done = await asyncio.to_thread(run)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def workers(pool: str) -> list[int]:
    """Process ids of the hosts of ``faulty``; replicas carry one and the same title."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                title = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            except OSError:
                continue
            if title.startswith(f"symfonic-ray {pool} ") and title.endswith("faulty"):
                found.append(int(entry.name))
    return found


@pytest.mark.timeout(300)
async def test_d17_a_second_driver_with_the_same_names_meets_none_of_the_first_one_s_children(
    open_pool: PoolMaker,
) -> None:
    pool = await open_pool("memo")
    async with pool.scope("acme") as fleet:
        await fleet.delegate("memo", "k=ours")
        address = ray.get_runtime_context().gcs_address
        first, second, generation, fresh = await printed("second_driver", address, pool.name)
        assert (first, second) == ("acme:nothing known", "acme:theirs")
        assert (generation, fresh) == (1, False)
        assert (await fleet.delegate("memo", "k")).message == "acme:ours"


@pytest.mark.timeout(300)
async def test_d14_thirty_trees_of_children_that_call_themselves_end_on_one_cpu() -> None:
    told = await printed("one_cpu", "30")
    assert told["outcomes"] == {"delivered": 30}
    assert told["runs"] == {"1": 30, "2": 90, "3": 270, "refused": 810}


async def test_d06_five_answers_stand_in_the_order_asked_whichever_ends_first(open_pool: PoolMaker) -> None:
    pool = await open_pool("sleeper", placements={"sleeper": Placement(concurrency=5)})
    tasks = ["0.5", "0.4", "nobody", "0.3", "0.2", "0.1"]
    pairs = [("ghost" if task == "nobody" else "sleeper", task) for task in tasks]
    async with pool.scope("acme") as fleet:
        ended = []
        async with fleet.fan_out(pairs) as finish_order:
            async for record in finish_order:
                ended.append(record.message)
        async with fleet.fan_out(pairs, ordered=True) as call_order:
            records = [record async for record in call_order]
        tools = await asyncio.gather(*(fleet.delegation.tools.run_agent(name, task) for name, task in pairs))
    assert ended[1:] == [f"slept {seconds}" for seconds in ("0.1", "0.2", "0.3", "0.4", "0.5")]
    said = [record.message for record in records]
    assert said[:2] + said[3:] == ["slept 0.5", "slept 0.4", "slept 0.3", "slept 0.2", "slept 0.1"]
    assert records[2].outcome is DelegationOutcome.UNKNOWN_CHILD
    assert [text.startswith("slept") for text in tools] == [True, True, False, True, True, True]


async def test_d24_a_pool_has_its_two_workers_again_after_an_error_a_death_and_a_timeout(open_pool: PoolMaker) -> None:
    pool = await open_pool("faulty", "sleeper", placements={"faulty": Placement(replicas=2)})
    async with pool.scope("acme") as fleet:
        assert await until(lambda: len(workers(pool.name)) == 2, 30)
        places = asyncio.Semaphore(2)  # as many as there are workers: none waits behind another in a process

        async def one(child: str, task: str, seconds: float) -> DelegationRecord:
            async with places:
                record: DelegationRecord = await fleet.delegate(child, task, timeout_seconds=seconds)
                return record

        tasks = ["a", "b", "value", "d", "die", "f", "30", "h", "i", "j"]
        asked = (one("sleeper", task, 0.3) if task == "30" else one("faulty", task, 30) for task in tasks)
        records = await asyncio.gather(*asked)
        reasons = [record.reason for record in records]
        assert reasons == ["", "", "exception", "", "actor_died", "", "timeout", "", "", ""]
        again = await asyncio.gather(*(fleet.delegate("faulty", f"{number}") for number in range(10)))
        assert [record.message for record in again] == [f"fine {number}" for number in range(10)]
        assert await until(lambda: len(workers(pool.name)) == 2, 30)


async def test_d24_tasks_that_wait_when_every_worker_dies_all_end_and_both_workers_come_back(
    open_pool: PoolMaker,
) -> None:
    pool = await open_pool("faulty", placements={"faulty": Placement(replicas=2)})
    async with pool.scope("acme") as fleet:
        assert await until(lambda: len(workers(pool.name)) == 2, 30)
        waiting = [asyncio.create_task(fleet.delegate("faulty", "x", timeout_seconds=30)) for _ in range(3)]
        for pid in workers(pool.name):
            os.kill(pid, signal.SIGKILL)
        ended = await asyncio.wait_for(asyncio.gather(*waiting), 40)
        assert {record.reason for record in ended} <= {"", "actor_died"}
        assert (await fleet.delegate("faulty", "y")).message == "fine y"
        assert await until(lambda: len(workers(pool.name)) == 2, 30)
