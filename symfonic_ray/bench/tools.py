"""A batch of tool calls on our dispatcher, beside the same batch as one hand-written Ray task a call: seconds.

Both sides run the same bodies. The asynchronous ones are shared by our dispatcher, which is its default for them; the
one that computes is declared idempotent, so it may be chunked. The bound on calls in flight is the size of the batch,
since hand-written Ray has none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import ray

from symfonic_ray.bench.comparison import Comparison, in_turns
from symfonic_ray.bench.raw_ray import ANSWER_SECONDS
from symfonic_ray.bench.stage import Stage
from symfonic_ray.cluster import RayToolDispatcher
from symfonic_ray.execution import Tool, ToolCall, ToolDescriptor, ToolExecutor

WAIT_SECONDS = 0.02
CPU_SECONDS = 0.005
_TRIAL_STEPS = 200_000


async def nothing(steps: int) -> int:
    """As little as a tool can do."""
    return steps


async def wait(steps: int) -> int:
    """What a tool does that asks another machine."""
    await asyncio.sleep(WAIT_SECONDS)
    return steps


def compute(steps: int) -> int:
    """What a tool does that works itself; the same work wherever it runs."""
    total = 0
    for step in range(steps):
        total += step
    return total


def _in_a_task(body: Callable[[int], Any]) -> Any:
    """A Ray task of ``body``, as one writes it by hand. Any: Ray's functions have no type."""
    if asyncio.iscoroutinefunction(body):
        return ray.remote(max_retries=0)(lambda steps: asyncio.run(body(steps)))
    return ray.remote(max_retries=0)(body)


async def measure(stage: Stage) -> dict[str, Any]:
    """Keys ``tools_nothing``, ``tools_wait`` and ``tools_cpu``: seconds of a batch."""
    calls = stage.size(64, 4)
    steps = _steps_of(CPU_SECONDS)
    works = {"tools_nothing": (nothing, False), "tools_wait": (wait, False), "tools_cpu": (compute, True)}
    found = {}
    for key, (body, idempotent) in works.items():
        ours, theirs = await in_turns(stage.rounds, _ours(body, calls, steps, idempotent), _raw(body, calls, steps))
        found[key] = Comparison(ours=ours, raw_ray=theirs, unit="s").as_dict(calls=calls)
    return found


def _ours(body: Callable[[int], Any], calls: int, steps: int, idempotent: bool) -> Callable[[], Awaitable[float]]:
    executor = ToolExecutor(dispatcher=RayToolDispatcher(in_flight=calls))
    tool = Tool(body, ToolDescriptor(body.__name__, idempotent=idempotent))
    batch = [ToolCall(str(number), tool.name, {"steps": steps}) for number in range(calls)]

    async def run() -> float:
        began_at = time.perf_counter()
        report = await executor.execute(batch, [tool])
        seconds = time.perf_counter() - began_at
        failures = [outcome.content for outcome in report.outcomes if outcome.is_error]
        if failures:
            raise RuntimeError(f"a measurement of failures means nothing: {failures[0]}")
        return seconds

    return run


def _raw(body: Callable[[int], Any], calls: int, steps: int) -> Callable[[], Awaitable[float]]:
    task = _in_a_task(body)

    async def run() -> float:
        began_at = time.perf_counter()
        references = [task.remote(steps) for _ in range(calls)]
        async with asyncio.timeout(ANSWER_SECONDS):
            for reference in references:
                await reference
        return time.perf_counter() - began_at

    return run


def _steps_of(seconds: float) -> int:
    """How many steps of ``compute`` take so long here: the fastest of three trials, each long enough for the clock."""
    trials = []
    for _ in range(3):
        began_at = time.process_time()
        compute(_TRIAL_STEPS)
        trials.append(time.process_time() - began_at)
    return round(_TRIAL_STEPS * seconds / min(trials))
