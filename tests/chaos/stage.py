"""Where a promise is measured: a joined Ray, a seed, a folder, and how long it may take. Measures nothing itself."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symfonic_ray.cluster import Cluster, ScopedPool
from symfonic_ray.delegation import ScopedChild
from tests.chaos import children
from tests.cluster import children as cluster_children
from tests.cluster.conftest import alive


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of one promise."""

    figure: str
    """In words, with units."""
    kept: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """One row of the table."""

    name: str
    """``P1`` to ``P20``."""
    text: str
    bar: str
    measure: Callable[[Stage], Awaitable[Measured]]
    slow: bool = False
    """Whether it takes minutes whatever its size, so that the suite leaves it to the script."""


@dataclass(slots=True)
class Stage:
    """What a measurement is given."""

    seed: int
    whole: bool
    """Whether at full size; else short, for every run of the suite."""
    folder: Path
    pools: int = 0

    def chance(self, promise: str) -> random.Random:
        """The source of chance of one promise."""
        return random.Random(f"{self.seed} {promise}")

    def size(self, whole: int, short: int) -> int:
        """How many of something."""
        return whole if self.whole else short

    @asynccontextmanager
    async def pool(self, *builds: str, **options: Any) -> AsyncIterator[ScopedPool]:
        """A pool of children, called like their build functions here or in ``tests.cluster.children``."""
        self.pools += 1
        declared = [
            ScopedChild(name=name, description=f"shows {name}", build=getattr(_home(name), name)) for name in builds
        ]
        name = f"chaos-{os.getpid()}-{self.pools}"
        async with Cluster.connect() as cluster, cluster.pool(declared, name=name, **options) as pool:
            yield pool


def _home(name: str) -> Any:
    return children if hasattr(children, name) else cluster_children


def noted_pids(file: Path) -> list[int]:
    """Processes that children have noted in a file and that still live, in the order of their birth."""
    return [pid for pid in map(int, file.read_text().split()) if alive(pid)] if file.exists() else []


def descendants(pid: int) -> list[int]:
    """Processes below one, at every depth."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found = list(parents.get(pid, ()))
    for child in found:
        found.extend(parents.get(child, ()))
    return found


def percentile(seconds: Sequence[float], part: float) -> float:
    """The smallest value that ``part`` of all do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all shares are equal."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


async def within(condition: Callable[[], bool], seconds: float) -> float | None:
    """Seconds until ``condition`` came true; None when it did not in time."""
    began = time.monotonic()
    while not condition():  # it looks at other processes
        if time.monotonic() - began > seconds:
            return None
        await asyncio.sleep(0.01)
    return time.monotonic() - began


def memory_bytes(pid: int | str = "self") -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel told no VmRSS")
