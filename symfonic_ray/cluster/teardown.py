"""How one host ends: no new runs, flush, close, its own exit, kill. Each step is bounded and the next always comes."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import singledispatch
from pathlib import Path
from typing import Any

from symfonic_ray.admission import PoolLimits
from symfonic_ray.cluster.remote_call import CallLostError, answer_of
from symfonic_ray.delegation.lifecycle import ChildLifecycle
from symfonic_ray.delegation.values import TeardownReport

STOP_GRACE_SECONDS = 1.0  # a cancelled run that has not ended by then is left to the kill
ANSWER_MARGIN_SECONDS = 1.0  # for the way to the host and back on a busy machine
GONE_SECONDS = 2.0
GONE_STEP_SECONDS = 0.01


class CleanUpError(RuntimeError):
    """A child's flush or close went wrong; the words come from its host."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words

    def __str__(self) -> str:
        return self.words


class ChildOnHost:
    """A hosted child as ``ChildLifecycle`` sees it."""

    __slots__ = ("_handle", "_limits", "_name")

    def __init__(self, handle: Any, name: str, limits: PoolLimits) -> None:
        self._handle, self._name, self._limits = handle, name, limits

    async def flush_background_tasks(self) -> None:
        """Flush the child in its host."""
        seconds = self._limits.flush_seconds
        await _ask(self._handle.flush.remote(self._name, seconds), seconds)

    async def aclose(self) -> None:
        """Close the child in its host."""
        seconds = self._limits.close_seconds
        await _ask(self._handle.close.remote(self._name, seconds), seconds)


async def end_host(handle: Any, names: tuple[str, ...], limits: PoolLimits) -> TeardownReport:
    """End one host; ``attempted`` counts its children. Never raises for what the host or a child does."""
    with suppress(CallLostError, TimeoutError):
        await answer_of(handle.stop_runs.remote(STOP_GRACE_SECONDS), STOP_GRACE_SECONDS + ANSWER_MARGIN_SECONDS)
    grace = max(limits.flush_seconds, limits.close_seconds) + 2 * ANSWER_MARGIN_SECONDS
    children = [ChildOnHost(handle, name, limits) for name in names]
    report = await ChildLifecycle(children, grace_seconds=grace, names=names).shutdown()
    await leave(handle, limits.terminate_seconds)
    return TeardownReport(verb=report.verb, attempted=len(names), failures=report.failures)


async def leave(handle: Any, terminate_seconds: float) -> None:
    """Let a host exit by itself, so that its exit hooks run; then kill it whatever it did."""
    with suppress(CallLostError, TimeoutError):
        await answer_of(handle.__ray_terminate__.remote(), terminate_seconds)
    await kill(handle)


async def kill(handle: Any) -> None:
    """Kill a host and wait, within bounds, until Ray says that it is gone."""
    end_process(handle)
    with suppress(CallLostError, TimeoutError):
        await answer_of(handle.ping.remote(), GONE_SECONDS)
        await asyncio.sleep(0)


async def until_gone(pid: int) -> None:
    """Wait, within bounds, until no process of that id runs on this machine: Ray says so a moment before it is true.

    Of a host on another machine nothing more can be known than what Ray says.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while _runs(pid) and time.monotonic() < deadline:  # noqa: ASYNC110  # another process sets no event
        await asyncio.sleep(GONE_STEP_SECONDS)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@singledispatch
def end_process(handle: Any) -> None:
    """Kill the process behind a handle, whatever it does. Handles that are not Ray's register their own way to go."""
    import ray

    with suppress(ray.exceptions.RayError, ValueError):
        ray.kill(handle, no_restart=True)


async def _ask(reference: Any, seconds: float) -> None:
    try:
        words = await answer_of(reference, seconds + ANSWER_MARGIN_SECONDS)
    except TimeoutError:
        raise CleanUpError(f"its host did not answer within {seconds:g} seconds") from None
    except CallLostError:
        raise CleanUpError("its host is gone") from None
    if words:
        raise CleanUpError(words)
