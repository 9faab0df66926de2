"""One run of the benchmark: one Ray, one item after the other, whatever becomes of each. Prints nothing."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from symfonic_ray.bench.catalogue import WorkItem
from symfonic_ray.bench.stage import Stage
from symfonic_ray.cluster import Cluster
from symfonic_ray.kernel.text import failure_line

SCHEMA_VERSION = 1
LEAST_ROUNDS = 5

OnItem = Callable[[WorkItem, Mapping[str, Any] | None], None]
"""Hears of an item that begins (with None), and of what it gave."""


async def run_bench(
    items: Sequence[WorkItem], *, rounds: int, quick: bool, address: str | None, on_item: OnItem
) -> dict[str, Any]:
    """Measure some items.

    Args:
        items: what is measured, in this order.
        rounds: of each comparison.
        quick: use sizes that only show that everything works.
        address: of a Ray cluster whose hosts are on this machine; None as in ``Cluster.connect``.
        on_item: told as it goes.
    Returns:
        Plain JSON data by key, and ``about``. An item that failed has ``{"error": ...}`` under each of its keys.
    Raises:
        ClusterUnreachableError: without a Ray.
    """
    found: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "about": about(rounds=rounds, quick=quick)}
    async with Cluster.connect(address) as cluster:
        stage = Stage(cluster=cluster, rounds=rounds, quick=quick)
        for item in items:
            on_item(item, None)
            try:
                gave = await item.measure(stage)
            except Exception as error:  # one item that fails must not cost the others their hour
                gave = {key: {"error": failure_line(error)} for key in item.keys}
            found.update(gave)
            on_item(item, gave)
    return found


def about(*, rounds: int, quick: bool) -> dict[str, Any]:
    """Where and how it was measured."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": rounds,
        "quick": quick,
        "cores": os.cpu_count(),
        "load_1_minute": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "ray": version("ray"),
        "machine": platform.machine(),
    }
