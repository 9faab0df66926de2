"""A driver with a Ray of its own and a tree of runs that write lines until they are stopped. Ended by a test."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from symfonic_ray import Cluster, Placement, ScopedChild
from tests.cluster import children, tool_bodies


async def main(folder: Path) -> None:
    """Say ``up`` when every leaf writes."""
    builds = {"stem": children.stem, "sleeper": children.sleeper, "Blocking": children.Blocking}
    declared = [
        *(ScopedChild(name=name, description="writes", build=build) for name, build in builds.items()),
        ScopedChild(name="tool_writer", description="writes from a tool", build=tool_bodies.tool_writer),
    ]
    names = tuple(child.name for child in declared)
    placements = dict.fromkeys(names, Placement(concurrency=8))
    placements["stem"] = Placement(concurrency=8, delegates_to=names)
    files = {name: folder / name for name in names[1:]}
    leaves = [
        ["sleeper", f"write {files['sleeper']} 600"],
        ["Blocking", f"{files['Blocking']} 600"],
        ["tool_writer", str(files["tool_writer"])],
    ]
    async with (
        Cluster.connect("local", num_cpus=2) as cluster,
        cluster.pool(declared, placements=placements) as pool,
        pool.scope("acme") as fleet,
    ):
        running = asyncio.create_task(fleet.delegate("stem", json.dumps([["stem", json.dumps(leaves)]])))
        while not all(file.exists() and file.stat().st_size for file in files.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        print("up", flush=True)
        await running


if __name__ == "__main__":
    os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        asyncio.run(main(Path(sys.argv[1])))
    except KeyboardInterrupt:
        sys.exit(130)
