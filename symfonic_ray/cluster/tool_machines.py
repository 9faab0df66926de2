"""What the machines of a cluster have, for telling how wide to cut and what can never run. Starts nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

import ray

FRESH_SECONDS = 5.0  # asking costs a round trip of milliseconds; machines come and go more slowly
_WORDS = {"CPU": "cores", "GPU": "GPUs", "memory": "bytes of memory"}


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines that are up."""

    totals: tuple[Mapping[str, float], ...]
    """What each has in all, used or not, by resource."""

    @property
    def cores(self) -> float:
        """Of all of them together."""
        return sum(has.get("CPU", 0.0) for has in self.totals)

    def lacking(self, needs: Mapping[str, float]) -> str:
        """Why no machine can ever hold ``needs``, in words; empty where one can.

        A cluster that grows on demand is judged by what is up: it must have one machine of each kind.
        """
        if any(all(has.get(name, 0.0) >= amount for name, amount in needs.items()) for has in self.totals):
            return ""
        asked = " and ".join(f"{amount:g} {_WORDS.get(name, name)}" for name, amount in needs.items() if amount)
        return f"no machine of the cluster has {asked}"


class MachineWatch:
    """Asks Ray now and then."""

    def __init__(self) -> None:
        self._seen = Machines(())
        self._fresh_until = 0.0

    async def current(self) -> Machines:
        """The machines, as they were at most five seconds ago."""
        if time.monotonic() >= self._fresh_until:
            nodes = await asyncio.to_thread(ray.nodes)
            self._seen = Machines(tuple(dict(node["Resources"]) for node in nodes if node["Alive"]))
            self._fresh_until = time.monotonic() + FRESH_SECONDS
        return self._seen
