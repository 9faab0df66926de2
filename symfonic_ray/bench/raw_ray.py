"""The other side of every comparison: what a careful engineer writes with Ray alone. Knows nothing of ours.

An async actor that holds no core, one call a task, and as many calls at a time as a semaphore lets through.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import ray

from symfonic_ray.bench.work import BUILDS

ANSWER_SECONDS = 60.0


class RawAgent:
    """An agent in an actor."""

    def __init__(self, kind: str) -> None:
        self._agent = BUILDS[kind](None)

    async def run(self, task: str) -> str:
        """One task."""
        return await self._agent.run(task)

    async def pid(self) -> int:
        """Its process."""
        return os.getpid()


RawActor = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(RawAgent)


class RawActors:
    """Actors of one kind, alive for an ``async with`` block."""

    def __init__(self, kind: str, count: int) -> None:
        self._kind = kind
        self._count = count
        self.handles: list[Any] = []  # Any: Ray's handles have no type
        self.pids: list[int] = []

    async def __aenter__(self) -> RawActors:
        self.handles = [RawActor.remote(self._kind) for _ in range(self._count)]
        calls = [answer(handle.pid.remote()) for handle in self.handles]
        self.pids = list(await asyncio.gather(*calls))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self.handles:
            ray.kill(handle)


async def answer(call: Any) -> Any:  # Any: whatever the actor gives
    """The answer of one call; a careful engineer bounds it."""
    return await asyncio.wait_for(call, ANSWER_SECONDS)


async def bulk(handles: Sequence[Any], tasks: Iterable[str], *, in_flight: int) -> int:
    """Every task to the actors in turn, so many at a time; gives the number of answers."""
    places = asyncio.Semaphore(in_flight)

    async def one(handle: Any, task: str) -> None:
        async with places:
            await handle.run.remote(task)

    calls = [one(handles[number % len(handles)], task) for number, task in enumerate(tasks)]
    async with asyncio.timeout(ANSWER_SECONDS * 5):
        await asyncio.gather(*calls)
    return len(calls)
