"""How a host shows itself in a process list: fleet, a hash of its scope, and child. Never the scope's own name."""

from __future__ import annotations

import asyncio
from typing import Protocol

from symfonic_ray.cluster.blueprint import SHARED
from symfonic_ray.kernel import scope_hash

PREFIX = "symfonic-ray"
SETTLE_SECONDS = (0.05, 0.5, 3.0)  # Ray writes its own title at the end of each call, on a loaded machine a while later


def host_title(pool: str, scope_key: str, group: str) -> str:
    """Such as ``symfonic-ray readers 4fe1a9c3d2b70e58 reader``."""
    return f"{PREFIX} {pool} {scope_hash(scope_key)} {'(all children)' if group == SHARED else group}"


class Titles(Protocol):
    """Where this process's title is read and written."""

    def getproctitle(self) -> str:
        """The title now."""

    def setproctitle(self, title: str) -> None:
        """Another title."""


class ProcessTitle:
    """The title of this process; belongs to one event loop.

    Args:
        loop: the loop.
        titles: where the title is written; None where a process keeps the one that it has.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, titles: Titles | None) -> None:
        self._loop = loop
        self._titles = titles
        self._title = ""
        self._pending: asyncio.TimerHandle | None = None

    def set(self, pool: str, scope_key: str, group: str) -> None:
        """Fix the title for the rest of the process's life."""
        if self._titles is not None:
            self._title = host_title(pool, scope_key, group)
            self._titles.setproctitle(self._title)

    def assert_soon(self) -> None:
        """Write the title again after the current call, since Ray overwrites it."""
        if self._title and self._pending is None:
            self._pending = self._loop.call_later(SETTLE_SECONDS[0], self._assert, SETTLE_SECONDS[1:])

    def _assert(self, later: tuple[float, ...]) -> None:
        self._pending = self._loop.call_later(later[0], self._assert, later[1:]) if later else None
        if self._titles is not None and self._titles.getproctitle() != self._title:
            self._titles.setproctitle(self._title)
