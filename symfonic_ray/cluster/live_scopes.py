"""Which scopes are live, who holds them, and who must go to make room. Starts and ends nothing itself.

A scope that somebody holds, or that has a hand-off in flight or waiting, is in use and is never closed for room.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from symfonic_ray.admission import ScopeUse, to_evict
from symfonic_ray.cluster.directory import Directory
from symfonic_ray.cluster.fleet import ScopedFleet
from symfonic_ray.cluster.gate import Gate
from symfonic_ray.delegation.errors import ChildBuildError
from symfonic_ray.delegation.values import TeardownReport

REMEMBERED_SCOPES = 100_000  # keys of closed scopes, so that a returning one says so: 10 MB at most
REMEMBERED_REPORTS = 1_000


@dataclass(slots=True)
class LiveScope:
    """One scope that has a fleet."""

    key: str
    fleet: ScopedFleet
    directory: Directory
    last_used: float
    """Seconds on the monotonic clock."""
    holds: int = 0
    """``pool.scope`` blocks that are inside, or being entered."""
    composed: bool = False
    """Whether its children stood at least once."""
    closing: asyncio.Task[TeardownReport] | None = None


class LiveScopes:
    """The live scopes of one pool.

    Args:
        most: how many may live at one time.
        idle_ttl_seconds: a scope idle for so long is closed.
        wait_seconds: how long a newcomer waits for room.
        gate: tells what is in flight.
        close: closes one scope by its key.
    """

    def __init__(
        self,
        *,
        most: int,
        idle_ttl_seconds: float,
        wait_seconds: float,
        gate: Gate,
        close: Callable[[str], Awaitable[TeardownReport]],
    ) -> None:
        self._most = most
        self._idle_ttl_seconds = idle_ttl_seconds
        self._wait_seconds = wait_seconds
        self._gate = gate
        self._close = close
        self._live: dict[str, LiveScope] = {}
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._reports: OrderedDict[str, TeardownReport] = OrderedDict()
        self._changed = asyncio.Condition()
        self._entering = 0

    def __len__(self) -> int:
        return len(self._live)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the live scopes."""
        return tuple(self._live)

    def find(self, key: str) -> LiveScope | None:
        """A live scope."""
        return self._live.get(key)

    def was_seen(self, key: str) -> bool:
        """Whether a scope lived in this pool before and was closed."""
        return key in self._seen

    def report(self, key: str) -> TeardownReport | None:
        """What closing a scope came to; None while it lives, or when it was long ago."""
        return self._reports.get(key)

    async def held(self, key: str, make: Callable[[], LiveScope]) -> LiveScope:
        """The scope, live and held once more; made when there is room, after the idlest ones were closed.

        Raises:
            ChildBuildError: reason ``busy``, when the others stay in use for too long.
        """
        deadline = time.monotonic() + self._wait_seconds
        while True:
            live = self._live.get(key)
            if live is not None and live.closing is None and live.directory.shut and not live.holds:
                await self._close(key)  # its children were closed one by one: it is made anew
                continue
            if live is not None and live.closing is None:
                live.holds += 1
                return live
            if live is not None and live.closing is not None:
                await asyncio.wait((live.closing,))
                continue
            if len(self._live) < self._most:
                live = self._live[key] = make()
                live.holds = 1
                self._reports.pop(key, None)
                return live
            await self._room(deadline)

    async def _room(self, deadline: float) -> None:
        """Close the idlest scope, or wait until one is let go."""
        chosen = to_evict(self._uses(), most=self._most, idle_ttl_seconds=float("inf"), now=time.monotonic(), needed=1)
        if chosen:
            await self._close(chosen[0])
            return
        left = deadline - time.monotonic()
        words = f"{self._most} scopes are live and in use, as many as the pool may hold; none was let go in time"
        try:
            async with self._changed:
                await asyncio.wait_for(self._changed.wait(), max(0.0, left))
        except TimeoutError:
            raise ChildBuildError("", "busy", words) from None

    async def released(self, live: LiveScope) -> None:
        """One hold less."""
        live.holds -= 1
        live.last_used = time.monotonic()
        async with self._changed:
            self._changed.notify_all()

    async def gone(self, live: LiveScope, report: TeardownReport | None) -> None:
        """A scope was closed; without a report it never stood."""
        if self._live.get(live.key) is live:
            del self._live[live.key]
        if report is not None:
            self._seen[live.key] = None
            if len(self._seen) > REMEMBERED_SCOPES:
                self._seen.popitem(last=False)
            self._reports[live.key] = report
            if len(self._reports) > REMEMBERED_REPORTS:
                self._reports.popitem(last=False)
        async with self._changed:
            self._changed.notify_all()

    async def close_idle(self) -> None:
        """Close every scope that has been idle for too long."""
        now = time.monotonic()
        for key in self._live:
            if self._gate.busy(key):
                self._live[key].last_used = now
        chosen = to_evict(self._uses(), most=len(self._live), idle_ttl_seconds=self._idle_ttl_seconds, now=now)
        await asyncio.gather(*(self._close(key) for key in chosen))

    def _uses(self) -> dict[str, ScopeUse]:
        return {
            key: ScopeUse(live.last_used, bool(live.holds) or live.closing is not None or self._gate.busy(key))
            for key, live in self._live.items()
        }
