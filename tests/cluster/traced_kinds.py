"""A driver of its own, since OpenTelemetry is set up once in the life of a process: one task, five kinds of agent.

Its argument is the address of the model server; its output is one line of JSON: the caller's record and its children's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from functools import partial

import ray

from symfonic_ray import Cluster, DelegationRecord, Placement, ScopedChild
from symfonic_ray.delegation import HandOffEnded
from symfonic_ray.delegation.fleet import HandOffEvent
from tests.cluster import foreign_agents
from tests.cluster.children import caller

KINDS = ("graph", "openai_agent", "pydantic_agent", "symfonic_agent", "function")
TASK = "the weather"


async def main(base_url: str) -> None:
    children = [
        ScopedChild(name=kind, description=kind, build=partial(getattr(foreign_agents, kind), base_url))
        for kind in KINDS
    ]
    children.append(ScopedChild(name="caller", description="asks all of them", build=caller))
    nested: list[DelegationRecord] = []

    def note(event: HandOffEvent) -> None:
        if isinstance(event, HandOffEnded) and event.record.depth == 2:
            nested.append(event.record)

    async with (
        Cluster.connect() as cluster,
        cluster.pool(children, placements={"caller": Placement(delegates_to=KINDS)}) as pool,
        pool.scope("acme") as fleet,
    ):
        fleet.observe(note)
        asked = json.dumps([[kind, TASK] for kind in KINDS])
        record = await fleet.delegate("caller", asked, timeout_seconds=200)
    print(json.dumps({"caller": record.as_dict(), "children": [one.as_dict() for one in nested]}), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        asyncio.run(main(sys.argv[1]))
    finally:
        ray.shutdown()
