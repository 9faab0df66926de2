"""P18: a machine that is lost. A program of its own, since it needs a cluster of several nodes of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from contextlib import suppress

import ray
from ray.cluster_utils import Cluster as LocalNodes

from symfonic_ray.cluster import Cluster, Placement, PoolLimits
from symfonic_ray.delegation import ScopedChild
from tests.chaos.children import worker

FAR = {"far": 0.1}
CALLS = 6


async def main() -> dict[str, object]:
    """Seconds from the loss to the records of the calls that ran there, and to the next answer."""
    nodes = LocalNodes(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    far = [nodes.add_node(num_cpus=1, resources={"far": 1}) for _ in range(2)]
    ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
    child = ScopedChild(name="worker", description="works", build=worker)
    placements = {"worker": Placement(resources=FAR, concurrency=16)}
    try:
        async with Cluster.connect() as cluster:
            limits = PoolLimits(build_seconds=60.0, warm_hosts=0)
            async with cluster.pool([child], placements=placements, limits=limits) as pool, pool.scope("acme") as fleet:
                first = await fleet.delegate("worker", "/dev/null 0 0", timeout_seconds=60)
                assert first.outcome.delivered, first
                flying = [asyncio.create_task(fleet.delegate("worker", f"/dev/null {n} 60")) for n in range(CALLS)]
                await asyncio.sleep(1.0)
                there = _node_of_the_host()
                lost = next(node for node in far if node.node_id == there)
                began = time.monotonic()
                await asyncio.to_thread(nodes.remove_node, lost, allow_graceful=False)
                records = await asyncio.gather(*flying)
                told = time.monotonic() - began
                again = None
                while time.monotonic() - began < 60:
                    record = await fleet.delegate("worker", "/dev/null again 0", timeout_seconds=60)
                    if record.outcome.delivered:
                        again = time.monotonic() - began
                        break
                    await asyncio.sleep(0.2)
                return {
                    "calls": len(records),
                    "reasons": sorted({record.reason for record in records}),
                    "told": told,
                    "again": again,
                }
    finally:
        ray.shutdown()
        with suppress(Exception):
            nodes.shutdown()  # type: ignore[no-untyped-call]  # Ray's own helper


def _node_of_the_host() -> str:
    from ray.util.state import list_actors

    with suppress(Exception):
        for actor in list_actors(filters=[("state", "=", "ALIVE")]):
            if "ChildHost" in actor["class_name"]:
                return str(actor["node_id"])
    actors = ray._private.state.actors()  # without a dashboard the state API is silent
    alive = [one for one in actors.values() if one["State"] == "ALIVE" and "ChildHost" in one.get("ActorClassName", "")]
    return str(alive[0]["Address"]["NodeID"])


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())), flush=True)
    sys.exit(0)
