"""One real Ray for the whole run, one pool and scope a test, and nothing left alive after it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import ray

from symfonic_ray.cluster import Cluster, ScopedPool
from symfonic_ray.delegation import ScopedChild
from tests.cluster import children

NUM_CPUS = 2


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A local Ray of this test run's own; started twice at most, since a loaded machine can miss Ray's own bound."""
    options: dict[str, Any] = {
        "address": "local",
        "num_cpus": NUM_CPUS,
        "include_dashboard": False,
        "log_to_driver": False,
        "logging_level": "ERROR",
    }
    environment = os.environ.get("RAY_AUTH_MODE")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own 15 starves hosts beside any other work of the machine
    try:
        ray.init(**options)
    except Exception:
        ray.shutdown()
        ray.init(**options)
    yield
    ray.shutdown()
    if environment is None:
        os.environ.pop("RAY_AUTH_MODE", None)


PoolMaker = Callable[..., Any]


@pytest.fixture
async def open_pool(local_ray: None, request: pytest.FixtureRequest) -> AsyncIterator[PoolMaker]:
    """Opens pools of the children that it is given, by name of their build function; all are closed at the end."""
    stack = AsyncExitStack()
    names: list[str] = []

    async def opened(*builds: str, name: str | None = None, **options: Any) -> ScopedPool:
        pool_name = f"{request.node.name[:40]}-{len(names)}"
        names.append(pool_name)
        declared = [child(build) if isinstance(build, str) else build for build in builds]
        cluster = await stack.enter_async_context(Cluster.connect())
        return await stack.enter_async_context(cluster.pool(declared, name=pool_name, **options))

    yield opened
    await stack.aclose()
    left = await gone({title for name in names for title in host_titles(name)}, names)
    assert not left, f"hosts left alive: {left}"


def child(build: str) -> ScopedChild:
    """A scoped child called like its build function in ``tests.cluster.children``."""
    return ScopedChild(name=build, description=f"shows {build}", build=getattr(children, build))


def host_titles(pool: str) -> dict[str, int]:
    """Processes that carry a pool's name in their title: title to process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                title = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            except OSError:
                continue
            if title.startswith(f"symfonic-ray {pool} "):
                found[title] = int(entry.name)
    return found


async def hosts(pool: str, count: int, seconds: float = 30.0) -> dict[str, int]:
    """Title to process id of a pool's hosts, once there are ``count``: Ray writes its own title now and then."""
    found: dict[str, int] = {}

    def all_there() -> bool:
        nonlocal found
        found = host_titles(pool)
        return len(found) == count

    assert await until(all_there, seconds), found
    return found


async def gone(titles: set[str], pools: list[str], seconds: float = 10.0) -> set[str]:
    """What of ``titles`` still runs when the time is up."""
    deadline = time.monotonic() + seconds
    while titles and time.monotonic() < deadline:
        titles = {title for pool in pools for title in host_titles(pool)}
        if titles:
            await asyncio.sleep(0.05)
    return titles


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition`` comes true in time; polled. Once seen it counts: Ray writes titles anew meanwhile."""
    deadline = time.monotonic() + seconds
    while not (seen := condition()) and time.monotonic() < deadline:  # noqa: ASYNC110  # awaits other processes
        await asyncio.sleep(0.02)
    return seen
