"""A fleet whose children are plain async functions in this process. Knows no pool, no limits but depth.

For tests of code that delegates: records, depth, lineage and ``current_fleet()`` are the real thing; admission,
placement and faults are not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from symfonic_ray.delegation import (
    DEFAULT_MAX_DEPTH,
    DelegationCapability,
    DelegationOutcome,
    DelegationRecord,
    FleetTasks,
    PrebuiltChild,
    delegated_children,
    serving,
)
from symfonic_ray.kernel import RunIdentity, new_run_id, run_identity


class FakeFleet:
    """A ``Fleet``.

    Args:
        children: async functions by child name; each gets the task and gives the final response.
        scope: whom every child works for.
        max_depth: the deepest level at which a child may run.
    Raises:
        ValueError: without children.
    """

    def __init__(
        self,
        children: Mapping[str, Callable[[str], Awaitable[Any]]],
        *,
        scope: Any = "test",
        max_depth: int = DEFAULT_MAX_DEPTH,
    ) -> None:
        self.records: list[DelegationRecord] = []
        """What ``delegate`` and ``fan_out`` gave so far, in the order they ended, to children included."""
        self.delegation: DelegationCapability = delegated_children(
            [
                PrebuiltChild(name=name, description=_first_line(function), agent=_FunctionAgent(function, self))
                for name, function in children.items()
            ],
            max_depth=max_depth,
            scope=scope,
        )

    async def delegate(self, name: str, task: Any, *, timeout_seconds: float | None = None) -> DelegationRecord:
        """One hand-off; running out of ``timeout_seconds`` is a record with reason ``timeout``."""
        started = time.perf_counter()
        depth = self.delegation.depth.child_depth(self.delegation.context.current_depth())
        try:
            async with asyncio.timeout(timeout_seconds):
                record = await self.delegation.tools.delegate(name, task)
        except TimeoutError:  # ours: a child's own is its failure and stays in the record
            record = DelegationRecord(
                name=name,
                outcome=DelegationOutcome.CHILD_FAILED,
                depth=depth,
                message=f"no answer within {timeout_seconds:g} seconds",
                reason="timeout",
                seconds=time.perf_counter() - started,
            )
        self.records.append(record)
        return record

    async def fan_out(
        self, tasks: FleetTasks, *, in_flight: int = 64, ordered: bool = False
    ) -> AsyncGenerator[DelegationRecord, None]:
        """Many hand-offs, at most ``in_flight`` at once; leaving early cancels what runs.

        Raises:
            ValueError: if ``in_flight`` is less than 1.
        """
        if in_flight < 1:
            raise ValueError(f"in_flight is {in_flight}; give at least 1")
        running: list[asyncio.Task[DelegationRecord]] = []
        try:
            async for name, task in _each(tasks):
                running.append(asyncio.create_task(self.delegate(name, task)))
                if len(running) == in_flight:
                    yield (await _ended(running, ordered)).result()
            while running:
                yield (await _ended(running, ordered)).result()
        finally:
            for left in running:
                left.cancel()
            await asyncio.gather(*running, return_exceptions=True)


class _FunctionAgent:
    """A plain function as a child, with the run around it that a host would open."""

    def __init__(self, function: Callable[[str], Awaitable[Any]], fleet: FakeFleet) -> None:
        self._function = function
        self._fleet = fleet

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> dict[str, Any]:
        own = run_id or new_run_id()
        identity = RunIdentity(own, root_run_id or own, parent_run_id)
        async with self._fleet.delegation.run_scope(depth=agent_depth, identity=identity):
            with run_identity(identity), serving(self._fleet):
                text = await self._function(query)
        return {
            "final_response": text,
            "run_id": identity.run_id,
            "root_run_id": identity.root_run_id,
            "parent_run_id": identity.parent_run_id,
        }


def _first_line(function: Callable[[str], Awaitable[Any]]) -> str:
    words = (function.__doc__ or "").strip()
    return words.splitlines()[0] if words else "a function of the test"


async def _each(tasks: FleetTasks) -> AsyncIterator[tuple[str, Any]]:
    if isinstance(tasks, AsyncIterable):
        async for pair in tasks:
            yield pair
    else:
        for pair in tasks:
            yield pair


async def _ended(running: list[asyncio.Task[DelegationRecord]], ordered: bool) -> asyncio.Task[DelegationRecord]:
    """The next task to report, taken out of ``running``."""
    if ordered:
        await asyncio.wait(running[:1])
    else:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    ended = next(task for task in running if task.done())
    running.remove(ended)
    return ended
