"""A Ray with one CPU, as a program: many trees of children that hand on to themselves, all at once."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

from symfonic_ray.cluster import Cluster, Placement
from tests.cluster.conftest import child

DEPTH = 3
SECONDS = 240.0  # workers of Ray yield to any other work of a machine: 8 s alone, 80 s beside three busy loops


async def main(trees: int) -> None:
    """Print the outcomes and the runs by depth as JSON."""
    placements = {"fan": Placement(delegates_to=("fan",))}
    runs: Counter[str] = Counter()
    async with (
        Cluster.connect("local", num_cpus=1) as cluster,
        cluster.pool([child("fan")], max_depth=DEPTH, placements=placements) as pool,
        pool.scope("acme") as fleet,
    ):
        records = await asyncio.gather(*(fleet.delegate("fan", "go", timeout_seconds=SECONDS) for _ in range(trees)))
    for record in records:
        if record.outcome.delivered:
            runs.update(json.loads(record.message))
    outcomes = Counter(f"{record.outcome.value} {record.reason}".strip() for record in records)
    print(json.dumps({"outcomes": outcomes, "runs": runs, "first": records[0].message[:300]}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
