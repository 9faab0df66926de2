"""P3, P8, P12, P13: waits that are bounded, builds that are one, stops that are confirmed, ends that come."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

from symfonic_ray.cluster import Placement, PoolLimits, RunLimits
from symfonic_ray.kernel import new_root
from tests.chaos.stage import Measured, Stage, descendants, noted_pids, within
from tests.cluster.conftest import alive

DEADLINE_SECONDS = 1.0
GRACE_SECONDS = 1.0


async def bounded_waits(stage: Stage) -> Measured:
    """P3: whatever stalls, a record comes by its deadline and says which wait ran out."""
    late: list[str] = []
    slowest = 0.0
    words: dict[str, str] = {}
    placements = {
        "slow_build": Placement(lazy=True),
        "sleeper_nowhere": Placement(num_cpus=10_000, lazy=True),
        "sleeper": Placement(concurrency=1),
    }
    file = stage.folder / "blocking"
    names = ("sleeper", "Blocking", "wedged", "slow_build", "sleeper_nowhere", "worker")
    limits = PoolLimits(build_seconds=30.0)
    built = stage.folder / "pids"
    scope = {"tenant": "acme", "pids": str(built)}
    async with stage.pool(*names, placements=placements, limits=limits) as pool, pool.scope(scope) as fleet:

        async def shape(name: str, child: str, task: str, seconds: float = DEADLINE_SECONDS) -> None:
            nonlocal slowest
            began = time.monotonic()
            record = await fleet.delegate(child, task, timeout_seconds=seconds)
            over = time.monotonic() - began - seconds
            slowest = max(slowest, over)
            words[name] = record.message
            if over > 1.0 or record.reason != "timeout" or not record.message:
                late.append(f"{name} ({record.reason}, {over:+.1f} s)")

        first = asyncio.create_task(fleet.delegate("sleeper", "4"))
        await asyncio.sleep(0.2)
        await shape("queued", "sleeper", "0")
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        await shape("cooperative hang", "sleeper", "60")
        await shape("blocking hang", "Blocking", f"{file} 60")
        await shape("blocked loop", "wedged", "8")
        await shape("build hang", "slow_build", "x")
        await shape("unschedulable", "sleeper_nowhere", "x")
        await fleet.delegate("worker", f"{file} 0 0")
        stopped = noted_pids(built)[-1]
        os.kill(stopped, signal.SIGSTOP)
        try:
            await shape("SIGSTOP", "worker", f"{file} 1 0")
        finally:
            with suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
    wrong = f"; late or wrong: {', '.join(late)}" if late else ""
    return Measured(f"{len(words)} shapes, slowest {slowest:.2f} s after its deadline{wrong}", not late)


async def one_build(stage: Stage) -> Measured:
    """P8: first calls at the same time build once."""
    calls = stage.size(200, 60)
    async with stage.pool("memo", limits=PoolLimits(max_in_flight_per_scope=256)) as pool:

        async def first_call(number: int) -> tuple[int, bool]:
            async with pool.scope("acme") as fleet:
                record = await fleet.delegate("memo", f"k{number}=v")
                return record.generation, record.outcome.delivered

        seen = await asyncio.gather(*(first_call(number) for number in range(calls)))
        await asyncio.sleep(1.1)  # stats are true within a second
        hosts = pool.stats().live_hosts
    generations = {generation for generation, _ in seen}
    delivered = sum(ok for _, ok in seen)
    figure = f"{calls} first calls at once: {len(generations)} build, {hosts} host, {delivered} delivered"
    return Measured(figure, len(generations) == 1 and hosts == 1 and delivered == calls)


async def confirmed_stop(stage: Stage) -> Measured:
    """P12: cancelled calls have all stopped within 5 s, nothing starts afterwards, and the receipt adds up."""
    calls = stage.size(500, 120)
    file = stage.folder / "noted"
    limits = PoolLimits(max_in_flight=600, max_in_flight_per_scope=600)
    placements = {"noted": Placement(concurrency=600), "Blocking": Placement(concurrency=8)}
    async with (
        stage.pool(
            "noted", "Blocking", placements=placements, limits=limits, run_limits=RunLimits(max_delegations=700)
        ) as pool,
        pool.scope("acme") as fleet,
    ):
        identity = new_root()
        async with fleet.delegation.run_scope(depth=0, identity=identity):
            flying = [asyncio.create_task(fleet.delegate("noted", f"{file} 60")) for _ in range(calls)]
            blocked = stage.folder / "blocked"
            flying.append(asyncio.create_task(fleet.delegate("Blocking", f"{blocked} 60")))
            if await within(lambda: file.exists() and file.stat().st_size == calls and blocked.exists(), 60) is None:
                return Measured("not all had started within 60 s", False)
            began = time.monotonic()
            receipt = await fleet.cancel(identity.root_run_id)
            seconds = time.monotonic() - began
            late = await fleet.delegate("noted", f"{file} 60")
            reasons = Counter(record.reason for record in await asyncio.gather(*flying))
        size = blocked.stat().st_size
        await asyncio.sleep(0.5)
        quiet = blocked.stat().st_size == size
    total = len(receipt.stopped) + len(receipt.killed) + len(receipt.finished)
    figure = (
        f"{len(receipt.stopped)} stopped, {len(receipt.killed)} killed of {calls + 1} in {seconds:.2f} s; "
        f"a later one: {late.reason}; {'silent' if quiet else 'NOT silent'} afterwards"
    )
    kept = seconds <= 5.0 and total == calls + 1 and late.reason == "cancelled" and quiet
    return Measured(figure, kept and reasons == {"cancelled": calls + 1})


async def shutdown_ends(stage: Stage) -> Measured:
    """P13: a shutdown ends within its graces and 2 s, and a driver that is ended leaves no process."""
    limits = PoolLimits(flush_seconds=GRACE_SECONDS, close_seconds=GRACE_SECONDS, terminate_seconds=GRACE_SECONDS)
    async with stage.pool("hung_flush", limits=limits) as pool:
        async with pool.scope("acme") as fleet:
            host = int((await fleet.delegate("hung_flush", "x")).message)
        began = time.monotonic()
        first, second = await asyncio.gather(pool.close(), pool.close())
        seconds = time.monotonic() - began
        same = first is second is await pool.close()
        ended = await within(lambda: not alive(host), max(0.0, GRACE_SECONDS + 2.0 - seconds))
    driver = await asyncio.to_thread(_ended_driver)
    reports = "one report" if same else "SEVERAL reports"
    figure = f"closed in {seconds:.2f} s with a hung flush, {reports}; after SIGTERM of a driver {driver}"
    return Measured(figure, seconds <= GRACE_SECONDS + 2.0 and same and ended is not None and driver.startswith("0 "))


_DRIVER = """
import asyncio, os
from symfonic_ray import Cluster, ScopedChild
from tests.chaos.children import worker

async def main():
    child = ScopedChild(name="worker", description="works", build=worker)
    async with Cluster.connect("local") as cluster, cluster.pool([child], name=f"ended-{os.getpid()}") as pool:
        async with pool.scope("acme") as fleet:
            await fleet.delegate("worker", "/dev/null 0 0")
            print("up", flush=True)
            await asyncio.sleep(600)

asyncio.run(main())
"""


def _ended_driver() -> str:
    """What is left of a driver with a Ray of its own, 5 s after it was asked to end."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    driver = subprocess.Popen(
        [sys.executable, "-c", _DRIVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert driver.stdout is not None
    line = driver.stdout.readline().split()
    if line[:1] != ["up"]:
        driver.kill()
        return "nothing: it did not start"
    group = descendants(driver.pid)
    driver.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 15
    with suppress(subprocess.TimeoutExpired):
        driver.wait(15)
    while time.monotonic() < deadline and any(alive(pid) for pid in group):
        time.sleep(0.05)
    left = [pid for pid in group if alive(pid)]
    driver.kill()
    driver.stdout.close()
    return f"{len(left)} of {len(group)} processes left"
