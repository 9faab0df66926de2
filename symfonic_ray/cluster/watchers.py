"""Who watches every scope of a pool, those to come too. Knows no controller and decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from symfonic_ray.cluster.fleet import ScopedFleet
from symfonic_ray.cluster.live_scopes import LiveScopes
from symfonic_ray.delegation.fleet import HandOffEvent

Watcher = Callable[[str, HandOffEvent], None]
"""Told a scope's key and what happens in it."""


class Watchers:
    """Those who are told of every hand-off.

    Args:
        scopes: those that are live.
    """

    def __init__(self, scopes: LiveScopes) -> None:
        self._scopes = scopes
        self._watching: list[tuple[Watcher, dict[str, Callable[[], None]]]] = []

    def add(self, watcher: Watcher) -> Callable[[], None]:
        """Tell ``watcher`` from now on; gives what ends it."""
        ends: dict[str, Callable[[], None]] = {}
        entry = (watcher, ends)
        self._watching.append(entry)
        for key in self._scopes.keys:
            if (live := self._scopes.find(key)) is not None:
                ends[key] = live.fleet.observe(partial(watcher, key))

        def end() -> None:
            with suppress(ValueError):
                self._watching.remove(entry)
            while ends:
                ends.popitem()[1]()

        return end

    def attach(self, key: str, fleet: ScopedFleet) -> None:
        """Let those who watch watch a new fleet too."""
        for watcher, ends in self._watching:
            ends[key] = fleet.observe(partial(watcher, key))

    def forget(self, key: str) -> None:
        """A scope is gone, and its fleet need not be kept for its watchers."""
        for _, ends in self._watching:
            ends.pop(key, None)
