"""Hundreds of tenants through a few processes: minutes long, so marked slow and run by scripts/soak."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest
import ray

from symfonic_ray.cluster import Placement, PoolLimits
from tests.cluster.conftest import PoolMaker, host_titles, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

ROUNDS = 3
SCOPES = 300
CEILING = 20


def memory_kib(pid: int | str = "self") -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("the kernel told no VmRSS")


async def test_three_hundred_scopes_pass_through_twenty_places(open_pool: PoolMaker, tmp_path: Path) -> None:
    limits = PoolLimits(max_live_scopes=CEILING, max_in_flight=256, build_seconds=120.0)
    pool = await open_pool("lasting_well", limits=limits, placements={"lasting_well": Placement()})
    peak = 0
    memory: list[tuple[int, int]] = []

    async def visit(number: int) -> bool:
        nonlocal peak
        folder = tmp_path / str(number)
        folder.mkdir(exist_ok=True)
        async with pool.scope({"folder": str(folder)}) as fleet:
            record = await fleet.delegate("lasting_well", "x", timeout_seconds=120)
            peak = max(peak, pool.stats().live_scopes)
            assert record.outcome.delivered, record.message
            return bool(record.fresh)

    for round_number in range(ROUNDS):
        places = asyncio.Semaphore(8)

        async def bounded(number: int, places: asyncio.Semaphore = places) -> bool:
            async with places:
                return await visit(number)

        fresh = await asyncio.gather(*(bounded(number) for number in range(SCOPES)))
        assert sum(fresh) == (0 if round_number == 0 else SCOPES)
        gc.collect()
        memory.append((memory_kib(), memory_kib(await pool._controller.ping.remote())))
        print(f"round {round_number}: driver {memory[-1][0]} KiB, controller {memory[-1][1]} KiB, peak {peak} scopes")
    assert peak <= CEILING
    await pool.close()
    for number in range(SCOPES):
        lines = (tmp_path / str(number) / "well").read_text().split()
        assert lines == ["flushed", "closed"] * ROUNDS, number
    for which in (0, 1):
        growth = memory[-1][which] - memory[1][which]
        assert growth < 20 * SCOPES, f"{growth} KiB in one round of {SCOPES} scopes"
    assert await until(lambda: host_titles(pool.name) == {}, 10)
    assert ray.is_initialized()


async def test_two_hundred_first_calls_at_once_are_one_build_each(open_pool: PoolMaker) -> None:
    limits = PoolLimits(max_live_scopes=40, build_seconds=600.0)
    pool = await open_pool("memo", limits=limits)

    async def visit(number: int) -> int:
        async with pool.scope(f"tenant-{number}") as fleet:
            one, two = await asyncio.gather(fleet.delegate("memo", "a=1"), fleet.delegate("memo", "b=2"))
            assert one.outcome.delivered, one.message
            assert one.generation == two.generation
            return int(one.generation)

    generations = await asyncio.gather(*(visit(number) for number in range(200)))
    assert len(set(generations)) == 200
    assert max(generations) == 200
