"""Children for a simulation that was given none: one quick, one slow that hangs at times, and one that delegates."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from symfonic_ray.admission import Placement
from symfonic_ray.delegation.declarations import ScopedChild
from symfonic_ray.delegation.fleet import current_fleet


class Quick:
    """Answers after some milliseconds; raises now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def run(self, query: str, *, scope: Any = None) -> str:
        """The task, echoed."""
        await asyncio.sleep(self._chance.uniform(0.0, 0.02))
        if self._chance.random() < 0.05:
            raise ValueError(f"no answer to {query}")
        return f"{scope}: {query}"


class Slow:
    """Takes up to seconds, and once in a while does not even leave when it is cancelled."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def run(self, query: str, *, scope: Any = None) -> str:
        """The task, echoed late."""
        draw = self._chance.random()
        if draw < 0.03:
            await _stubborn()
        await asyncio.sleep(1e6 if draw < 0.06 else self._chance.uniform(0.1, 2.0))
        return f"{scope}: {query}"


class Leader:
    """Asks the other two."""

    async def run(self, query: str) -> str:
        """What they said."""
        fleet = current_fleet()
        told = [await fleet.delegate(name, f"part of {query} for {name}") for name in ("quick", "slow")]
        return f"{query}: {', '.join(record.outcome.value for record in told)}"


async def _stubborn() -> None:
    for _ in range(20):
        try:
            await asyncio.sleep(1.0)
        except asyncio.CancelledError:
            continue


def sample_children(chance: random.Random) -> tuple[ScopedChild, ...]:
    """Their declarations."""
    return (
        ScopedChild(name="quick", description="answers at once", build=lambda scope: Quick(chance)),
        ScopedChild(name="slow", description="takes its time", build=lambda scope: Slow(chance)),
        ScopedChild(name="leader", description="asks the others", build=lambda scope: Leader()),
    )


SAMPLE_PLACEMENTS = {
    "quick": Placement(concurrency=4, replicas=(1, 2)),
    "slow": Placement(),
    "leader": Placement(concurrency=2, delegates_to=("quick", "slow")),
}
