"""A lone hand-off, and many at a time: seconds, tasks a second, CPU a task."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from symfonic_ray.bench import raw_ray
from symfonic_ray.bench.comparison import Comparison, in_turns
from symfonic_ray.bench.processes import cpu_seconds
from symfonic_ray.bench.raw_ray import RawActors
from symfonic_ray.bench.stage import Stage, bulk, delivered


async def round_trip(stage: Stage) -> dict[str, Any]:
    """Key ``round_trip_1``: seconds of one hand-off when nothing else is out; the median of a round's calls."""
    calls = stage.size(300, 20)
    async with stage.fleet("echo", 1) as (fleet, _), RawActors("echo", 1) as actors:
        (handle,) = actors.handles
        ours, theirs = await in_turns(
            stage.rounds,
            lambda: _median_seconds(lambda: delivered(fleet, "echo0", "task"), calls),
            lambda: _median_seconds(lambda: raw_ray.answer(handle.run.remote("task")), calls),
        )
    return {"round_trip_1": Comparison(ours=ours, raw_ray=theirs, unit="s").as_dict()}


async def throughput_32(stage: Stage) -> dict[str, Any]:
    """Key ``throughput_32``: tasks a second with 32 in flight."""
    rates, _ = await _throughput(stage, in_flight=32)
    return {"throughput_32": rates.as_dict()}


async def throughput_256(stage: Stage) -> dict[str, Any]:
    """Keys ``throughput_256`` and, from the same rounds, ``cpu_per_item_256``."""
    rates, cpu = await _throughput(stage, in_flight=256)
    return {"throughput_256": rates.as_dict(), "cpu_per_item_256": cpu.as_dict()}


async def _throughput(stage: Stage, *, in_flight: int) -> tuple[Comparison, Comparison]:
    """Ours gets more tasks than hand-written Ray, so that both take about as long and the clock's steps are small."""
    many, few = stage.size(20_000, 400), stage.size(3_000, 200)
    async with stage.fleet("echo", 1) as (fleet, pids), RawActors("echo", 1) as actors:

        async def we() -> tuple[float, float]:
            return await _rate_and_cpu(lambda: bulk(fleet, ["echo0"], many, in_flight=in_flight), pids)

        async def they() -> tuple[float, float]:
            tasks = (f"task {number}" for number in range(few))
            return await _rate_and_cpu(lambda: raw_ray.bulk(actors.handles, tasks, in_flight=in_flight), actors.pids)

        ours, theirs = await in_turns(stage.rounds, we, they)
    rates = Comparison(ours=[rate for rate, _ in ours], raw_ray=[rate for rate, _ in theirs], unit="/s")
    cpu = Comparison(ours=[spent for _, spent in ours], raw_ray=[spent for _, spent in theirs], unit="s CPU")
    return rates, cpu


async def _median_seconds(call: Callable[[], Awaitable[Any]], calls: int) -> float:
    seconds = []
    for _ in range(calls):
        began_at = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - began_at)
    return statistics.median(seconds)


async def _rate_and_cpu(work: Callable[[], Awaitable[int]], hosts: Sequence[int]) -> tuple[float, float]:
    """Tasks a second, and seconds of CPU a task in this process and the hosts together."""
    pids = [os.getpid(), *hosts]
    used, began_at = cpu_seconds(pids), time.perf_counter()
    done = await work()
    seconds, spent = time.perf_counter() - began_at, cpu_seconds(pids) - used
    return done / seconds, max(spent, 0.01) / done  # a clock of hundredths cannot tell less
