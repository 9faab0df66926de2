"""Two thousand tasks over several children: nothing, 50 ms of waiting, 2 ms of CPU each; seconds, and the ideal."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from symfonic_ray.bench import raw_ray
from symfonic_ray.bench.comparison import Comparison, in_turns
from symfonic_ray.bench.raw_ray import RawActors
from symfonic_ray.bench.stage import Stage, bulk, names
from symfonic_ray.bench.work import CPU_SECONDS, SLEEP_SECONDS

IN_FLIGHT_PER_CHILD = 64


def fan_out(kind: str, children: int) -> Callable[[Stage], Awaitable[dict[str, Any]]]:
    """The work item for one kind of work and number of children.

    Its keys are such as ``fan_out_8_sleep`` and, where the work takes any time, ``fan_out_8_sleep_vs_ideal``.
    """

    async def measure(stage: Stage) -> dict[str, Any]:
        tasks, in_flight = stage.size(2_000, 100), children * IN_FLIGHT_PER_CHILD
        async with stage.fleet(kind, children) as (fleet, _), RawActors(kind, children) as actors:

            async def we() -> float:
                began_at = time.perf_counter()
                await bulk(fleet, names(kind, children), tasks, in_flight=in_flight)
                return time.perf_counter() - began_at

            async def they() -> float:
                began_at = time.perf_counter()
                await raw_ray.bulk(actors.handles, (f"task {n}" for n in range(tasks)), in_flight=in_flight)
                return time.perf_counter() - began_at

            ours, theirs = await in_turns(stage.rounds, we, they)
        key = f"fan_out_{children}_{kind}"
        found = {key: Comparison(ours=ours, raw_ray=theirs, unit="s").as_dict()}
        ideal = ideal_seconds(kind, tasks, in_flight=in_flight, cores=min(children, os.cpu_count() or 1))
        if ideal:
            against = Comparison(ours=ours, raw_ray=theirs, unit="s", per=[ideal] * len(ours))
            found[f"{key}_vs_ideal"] = against.as_dict(ideal=ideal)
        return found

    return measure


def ideal_seconds(kind: str, tasks: int, *, in_flight: int, cores: int) -> float:
    """How long the work alone takes; 0.0 where there is none.

    Waiting is done ``in_flight`` at a time; computing is done by ``cores``.
    """
    if kind == "sleep":
        return math.ceil(tasks / in_flight) * SLEEP_SECONDS
    return tasks * CPU_SECONDS / cores if kind == "cpu" else 0.0
