"""Blank hosts, started ahead: binding one costs milliseconds where a new process costs half a second of a core.

Once taken they are never given back: a host is bound to one scope for life.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from symfonic_ray.admission import Placement
from symfonic_ray.cluster.teardown import kill


def is_ordinary(placement: Placement) -> bool:
    """Whether a blank host would do: nothing is asked of the place or the process."""
    blank = Placement()
    asked = ("num_cpus", "num_gpus", "memory", "resources", "label_selector", "runtime_env")
    return all(getattr(placement, name) == getattr(blank, name) for name in asked)


class WarmHosts:
    """A few blank hosts at hand.

    Args:
        count: how many are kept.
        start: starts one and waits until it answers; None when it did not.
    """

    def __init__(self, count: int, start: Callable[[], Awaitable[Any | None]]) -> None:
        self._count = count
        self._start = start
        self._ready: deque[Any] = deque()
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def ready(self) -> int:
        """Blank hosts at hand."""
        return len(self._ready)

    def take(self) -> Any | None:
        """A blank host, for good; None when there is none just now."""
        return self._ready.popleft() if self._ready else None

    def fill(self) -> None:
        """Start what is missing in the background, one after another: a start takes a core for a while."""
        if not self._closed and self._filling is None and len(self._ready) < self._count:
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        try:
            while not self._closed and len(self._ready) < self._count:
                handle = await self._start()
                if handle is None:
                    return  # the next binding asks again
                await self._keep(handle)
        finally:
            self._filling = None

    async def _keep(self, handle: Any) -> None:
        if self._closed:  # while it was starting
            await kill(handle)
        else:
            self._ready.append(handle)

    async def close(self) -> None:
        """End the blank hosts; none is started any more."""
        self._closed = True
        ready, self._ready = tuple(self._ready), deque()
        await asyncio.gather(*(kill(handle) for handle in ready))
        if self._filling is not None:
            await asyncio.wait((self._filling,))
