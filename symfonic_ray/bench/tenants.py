"""What a tenant costs: seconds until its child is ready, memory while it is idle, memory once it was let go."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import ray

from symfonic_ray.bench.comparison import Comparison, in_turns, rounded
from symfonic_ray.bench.processes import parent_pid, proportional_bytes, resident_bytes, titled
from symfonic_ray.bench.raw_ray import RawActor, RawActors, answer
from symfonic_ray.bench.stage import Stage, names, pids
from symfonic_ray.cluster import ScopedPool

CHILDREN = 5
WARM_SECONDS = 30.0
SETTLE_SECONDS = 0.5
_CONTROLLER = "ray::FleetController"  # Ray's own title for the process
_MB = 1024 * 1024


async def cold_start(stage: Stage) -> dict[str, Any]:
    """Key ``cold_start``: seconds until a new scope's child is bound and ready, from a warm host.

    Against the seconds until a new actor has answered for the first time.
    """
    async with stage.pool("echo", 1, warm_hosts=2) as pool:
        async with pool.scope("first"):  # starts the controller, which fills the warm hosts
            pass
        scopes = iter(range(1_000_000))

        async def we() -> float:
            await _warm(pool, 2)
            scope = f"tenant {next(scopes)}"
            began_at = time.perf_counter()
            async with pool.scope(scope):
                seconds = time.perf_counter() - began_at
            await pool.close_scope(scope)
            return seconds

        async def they() -> float:
            await _warm(pool, 2)  # a host being started beside it would cost it time
            began_at = time.perf_counter()
            handle: Any = RawActor.remote("echo")
            await answer(handle.run.remote("task"))
            seconds = time.perf_counter() - began_at
            ray.kill(handle)
            return seconds

        ours, theirs = await in_turns(stage.rounds, we, they)
    return {"cold_start": Comparison(ours=ours, raw_ray=theirs, unit="s").as_dict()}


async def _warm(pool: ScopedPool, count: int) -> None:
    """Wait until as many blank hosts are at hand, and the machine has come to rest."""
    async with asyncio.timeout(WARM_SECONDS):
        while pool.stats().warm_hosts < count:  # noqa: ASYNC110  # a pool tells only when it is asked
            await asyncio.sleep(0.05)
    await asyncio.sleep(SETTLE_SECONDS)


async def idle_tenant_memory(stage: Stage) -> dict[str, Any]:
    """Key ``idle_tenant_memory``: proportional memory of an idle tenant's five children in one process, in MB.

    Against five raw actors. ``passivated_bytes`` and the like are what a tenant leaves behind in driver and
    controller once it was let go; ``killed_raw_actor_bytes`` what Ray keeps of an actor in its owner.
    """
    scopes = iter(range(1_000_000))
    async with stage.pool("echo", CHILDREN, share="scope") as pool:

        async def we() -> float:
            scope = f"tenant {next(scopes)}"
            async with pool.scope(scope) as fleet:
                hosts = set(await pids(fleet, names("echo", CHILDREN)))
                await asyncio.sleep(SETTLE_SECONDS)
                used = proportional_bytes(hosts) / _MB
            await pool.close_scope(scope)
            return used

        async def they() -> float:
            async with RawActors("echo", CHILDREN) as actors:
                await asyncio.sleep(SETTLE_SECONDS)
                return proportional_bytes(actors.pids) / _MB

        ours, theirs = await in_turns(stage.rounds, we, they)
    passivated = await _passivated(stage)
    return {"idle_tenant_memory": Comparison(ours=ours, raw_ray=theirs, unit="MB").as_dict(**passivated)}


async def _passivated(stage: Stage) -> dict[str, float]:
    """Bytes by which the driver and the controller grew for each tenant that was live once and is not any more.

    Nothing where the controller's process cannot be told from another fleet's. Negative when less is used than before.
    """
    first, more = stage.size(50, 2), stage.size(200, 4)
    others = titled(_CONTROLLER)
    async with stage.pool("echo", 1, warm_hosts=4, max_live_scopes=4) as pool:
        for number in range(first):  # what is allocated once is there after these
            host = await _visit(pool, number)
        started = titled(_CONTROLLER) - others
        node = parent_pid(host)  # another Ray on this machine may have started one meanwhile
        controllers = [pid for pid in started if parent_pid(pid) == node]
        if len(controllers) != 1:
            return {}
        processes = [os.getpid(), *controllers]
        before = [resident_bytes(pid) for pid in processes]
        for number in range(first, first + more):
            await _visit(pool, number)
        driver, controller = ((resident_bytes(pid) - used) / more for pid, used in zip(processes, before, strict=True))
    return {
        "killed_raw_actor_bytes": rounded(await _killed(first, more)),
        "passivated_bytes": rounded(driver + controller),
        "passivated_driver_bytes": rounded(driver),
        "passivated_controller_bytes": rounded(controller),
    }


async def _killed(first: int, more: int) -> float:
    """Bytes by which the owner of hand-written actors grew for each that was created, called once and killed.

    What Ray itself keeps of every actor: no tenant with a process of its own can leave less behind.
    """
    for _ in range(first):
        async with RawActors("echo", 1):
            pass
    before = resident_bytes(os.getpid())
    for _ in range(more):
        async with RawActors("echo", 1):
            pass
    return (resident_bytes(os.getpid()) - before) / more


async def _visit(pool: ScopedPool, number: int) -> int:
    """Have a new tenant's child answer once; its process."""
    async with pool.scope(f"tenant {number}") as fleet:
        (host,) = await pids(fleet, ["echo0"])
        return host
