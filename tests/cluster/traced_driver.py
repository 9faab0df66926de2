"""A driver of its own, since OpenTelemetry is set up once in the life of a process: hands on, two levels deep."""

from __future__ import annotations

import asyncio
import json
import os

import ray

from symfonic_ray import Cluster, Placement, PrebuiltChild, ScopedChild
from symfonic_ray.agent import Agent
from symfonic_ray.testing import ScriptedModel, asking
from tests.cluster.children import echo, stem


def double(number: int) -> int:
    """Twice a number.

    Args:
        number: any.
    """
    print("tool", os.getpid(), flush=True)
    return 2 * number


def counting(scope: object) -> Agent:
    """An agent that uses a tool once."""
    return Agent(ScriptedModel(asking(("double", {"number": 21})), "It is 42."), tools=[double])


async def main() -> None:
    children = [
        ScopedChild(name="stem", description="hands on", build=stem),
        ScopedChild(name="counting", description="counts", build=counting),
        ScopedChild(name="echo", description="answers", build=echo),
        PrebuiltChild(name="here", description="answers here", agent=Agent(ScriptedModel("fine"))),
    ]
    placements = {"stem": Placement(delegates_to=("counting",))}
    async with (
        Cluster.connect() as cluster,
        cluster.pool(children, placements=placements) as pool,
        pool.scope("acme") as fleet,
    ):
        from opentelemetry import trace  # set up by now

        with trace.get_tracer("test").start_as_current_span("the request"):
            record = await fleet.delegate("stem", json.dumps([["counting", "secret task text"]]))
            assert record.outcome.delivered, record
            await fleet.delegate("here", "x")
            await fleet.delegate("ghost", "secret task text")
            async for _ in fleet.fan_out([("echo", "secret task text")] * 3):
                pass


if __name__ == "__main__":
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        asyncio.run(main())
    finally:
        ray.shutdown()
