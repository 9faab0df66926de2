"""Where the measurements happen: one Ray, pools and raw actors on it, how often and how much. Measures nothing."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.bench.work import ASK_PID, BUILDS
from symfonic_ray.cluster import Cluster, Placement, PoolLimits, ScopedFleet, ScopedPool
from symfonic_ray.delegation import ScopedChild

AT_A_TIME = 1000  # what Ray's async actors allow when nothing is said


@dataclass(slots=True, kw_only=True)
class Stage:
    """What every work item is given."""

    cluster: Cluster
    rounds: int
    """Measured rounds of every comparison."""
    quick: bool
    """Whether sizes are only large enough to see that everything works."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def size(self, full: int, quick: int) -> int:
        """The number of tasks, calls or scopes to use."""
        return quick if self.quick else full

    @asynccontextmanager
    async def pool(
        self, kind: str, count: int, *, share: Any = "child", **limits: Any
    ) -> AsyncIterator[ScopedPool]:  # Any: fields of Placement and PoolLimits
        """A pool of ``count`` children ``echo0``, ``echo1`` and so on, that may each run as many as a raw actor.

        Args:
            kind: ``echo``, ``sleep`` or ``cpu``.
            count: children of a scope.
            share: as in ``Placement``.
            limits: fields of ``PoolLimits`` that differ from the benchmark's own.
        """
        children = [ScopedChild(name=name, description=kind, build=BUILDS[kind]) for name in names(kind, count)]
        admits = {"max_in_flight": AT_A_TIME, "max_in_flight_per_scope": AT_A_TIME, "warm_hosts": 0}
        async with self.cluster.pool(
            children,
            placements={child.name: Placement(concurrency=AT_A_TIME, share=share) for child in children},
            limits=PoolLimits(**(admits | limits)),
            name=f"bench-{next(self._numbers)}",
        ) as pool:
            yield pool

    @asynccontextmanager
    async def fleet(self, kind: str, count: int) -> AsyncIterator[tuple[ScopedFleet, list[int]]]:
        """One scope's children and the ids of their processes."""
        async with self.pool(kind, count) as pool, pool.scope("bench") as fleet:
            yield fleet, await pids(fleet, names(kind, count))


def names(kind: str, count: int) -> list[str]:
    """The names of a pool's children."""
    return [f"{kind}{number}" for number in range(count)]


async def pids(fleet: ScopedFleet, children: Sequence[str]) -> list[int]:
    """The processes that serve some children."""
    return [int(await delivered(fleet, child, ASK_PID)) for child in children]


async def delivered(fleet: ScopedFleet, child: str, task: str) -> str:
    """The answer to one task.

    Raises:
        RuntimeError: without an answer a measurement means nothing.
    """
    record = await fleet.delegate(child, task)
    if not record.outcome.delivered:
        raise RuntimeError(f"{child} did not answer: {record.reason}: {record.message}")
    return record.message


async def bulk(fleet: ScopedFleet, children: Sequence[str], tasks: int, *, in_flight: int) -> int:
    """So many short tasks to the children in turn through ``fan_out``; gives the number of answers.

    Raises:
        RuntimeError: when a task was not delivered.
    """
    pairs = ((children[number % len(children)], f"task {number}") for number in range(tasks))
    fan_out = fleet.fan_out(pairs, in_flight=in_flight)
    async for _ in fan_out:
        pass
    report = fan_out.report
    if report.by_outcome != {"delivered": tasks}:
        raise RuntimeError(f"of {tasks} tasks: {dict(report.by_outcome)}, {dict(report.by_reason)}")
    return report.total
