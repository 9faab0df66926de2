"""Which scopes of a pool take no work, and everyone who must know it: gate, local runs, controller and its hosts."""

from __future__ import annotations

import asyncio
from typing import Any

from symfonic_ray.cluster.gate import Gate
from symfonic_ray.cluster.live_scopes import LiveScopes
from symfonic_ray.cluster.remote_call import CallLostError, answer_of

FREEZE_SECONDS = 10.0  # the graces of a freeze at every host, with room for a busy machine


class Freezing:
    """The freezes of one pool; belongs to one event loop.

    Args:
        gate: refuses what is frozen.
        scopes: those that are live.
    """

    def __init__(self, gate: Gate, scopes: LiveScopes) -> None:
        self._gate = gate
        self._scopes = scopes
        self._controller: Any = None  # Any: Ray's handles have no type
        self._told: tuple[bool, tuple[str, ...]] = (False, ())
        self._telling: asyncio.Task[None] | None = None

    def use(self, controller: Any) -> None:
        """Tell this controller from now on."""
        self._controller = controller
        self._tell()

    def freeze(self, key: str | None) -> None:
        """Take no work of a scope, or of any; cancel what runs. Does not wait."""
        self._gate.freeze(key)
        for each in self._scopes.keys if key is None else (key,):
            if (live := self._scopes.find(each)) is not None:
                live.directory.local_runs.stop("its scope was frozen")
        self._tell()

    def thaw(self, key: str | None) -> None:
        """Take work again."""
        self._gate.thaw(key)
        self._tell()

    def close(self) -> None:
        """Tell nobody any more."""
        self._controller = None
        if self._telling is not None:
            self._telling.cancel()

    def _tell(self) -> None:
        if self._telling is None and self._controller is not None:
            self._telling = asyncio.create_task(self._tell_all())

    async def _tell_all(self) -> None:
        """Bring the controller to what the gate says, however often that changes meanwhile."""
        try:
            while self._controller is not None and self._told != self._gate.frozen:
                wanted = self._gate.frozen
                try:
                    killed = await answer_of(self._controller.freeze.remote(*wanted), FREEZE_SECONDS)
                except TimeoutError:
                    continue
                except CallLostError:
                    return
                self._told = wanted
                for key, generations in killed.items():
                    if (live := self._scopes.find(key)) is not None:
                        live.directory.lose_generations(generations)
        finally:
            self._telling = None
