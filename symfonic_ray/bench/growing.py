"""Whether a task costs more, and the driver grows, when there are more of them. No comparison: only ours."""

from __future__ import annotations

import gc
import os
import statistics
import time
from typing import Any

from symfonic_ray.bench.comparison import rounded
from symfonic_ray.bench.processes import resident_bytes
from symfonic_ray.bench.stage import Stage, bulk

SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = (20, 100)
IN_FLIGHT = 256
REPEATED_UP_TO = 10_000  # a larger one is steady enough to be run once


async def growth(stage: Stage) -> dict[str, Any]:
    """Key ``growth``: a list of {tasks, seconds_per_task, driver_rss_mb}; seconds are medians over the rounds."""
    rows = []
    async with stage.fleet("echo", 1) as (fleet, _):
        await bulk(fleet, ["echo0"], stage.size(10_000, 20), in_flight=IN_FLIGHT)
        for tasks in QUICK_SIZES if stage.quick else SIZES:
            seconds = []
            for _ in range(stage.rounds if tasks <= REPEATED_UP_TO else 1):
                began_at = time.perf_counter()
                await bulk(fleet, ["echo0"], tasks, in_flight=IN_FLIGHT)
                seconds.append((time.perf_counter() - began_at) / tasks)
            gc.collect()
            rss = resident_bytes(os.getpid())
            rows.append(
                {
                    "tasks": tasks,
                    "seconds_per_task": rounded(statistics.median(seconds)),
                    "driver_rss_mb": round(rss / 1024 / 1024, 2),
                }
            )
    return {"growth": rows}
