"""Children that are seen at work: their own runs are noted in a history. Changes nothing of what they do."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import random
from collections.abc import Callable
from importlib import import_module
from typing import Any

from symfonic_ray.delegation.calling import AgentCall
from symfonic_ray.delegation.lockdown import SeeThrough
from symfonic_ray.kernel import current_run_identity
from symfonic_ray.kernel import scope_key as key_of
from symfonic_ray.testing.simulator.faults import Faults
from symfonic_ray.testing.simulator.history import History
from symfonic_ray.testing.simulator.transport import HERE


class PlannedBuildError(RuntimeError):
    """A build that fails because the seed says so."""

    def __str__(self) -> str:
        return "this build was planned to fail"


class Watched(SeeThrough):
    """One agent that is seen at work."""

    def __init__(self, agent: Any, name: str, scope: Any, instance: str, history: History) -> None:
        self.agent = agent
        self._name = name
        self._scope_key = key_of(scope) if scope is not None else ""
        self._instance = instance
        self._history = history
        self._call = AgentCall(agent)
        for method in ("flush_background_tasks", "aclose"):
            if callable(own := getattr(agent, method, None)):
                setattr(self, method, own)

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> Any:
        """Run the agent; its start and its end are noted, unless its process is dead by then."""
        process = HERE.get()
        if process is not None and process.lost is not None:
            raise asyncio.CancelledError
        history, scope_key = self._history, self._scope_key or key_of(scope)
        identity = current_run_identity()
        own = run_id or (identity.run_id if identity is not None else "")
        operation = history.started(
            query, history.run_name(own), scope_key=scope_key, child=self._name, instance=self._instance
        )
        answer = ""
        try:
            response = await self._call(
                query,
                scope=scope,
                run_id=run_id,
                agent_depth=agent_depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )
            answer = response.strip() if isinstance(response, str) else ""
            return response
        finally:
            if process is None or process.lost is None:
                history.ended(operation, scope_key=scope_key, child=self._name, instance=self._instance, answer=answer)


class Builds:
    """Builds of watched agents, held for the time of one simulation under names that an import string can tell."""

    def __init__(self) -> None:
        self._held: dict[str, Callable[[Any], Any]] = {}

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        try:
            return self._held[name]
        except KeyError:
            raise AttributeError(name) from None

    def clear(self) -> None:
        """Let go of all."""
        self._held.clear()

    def hold(
        self, name: str, build: Callable[[Any], Any] | str, history: History, chance: random.Random, faults: Faults
    ) -> str:
        """The import string of a watched ``build``."""
        numbers = itertools.count(1)

        async def watched(scope: Any) -> Watched:
            draw = chance.random()
            if draw < faults.build_fails:
                raise PlannedBuildError
            if draw < faults.build_fails + faults.build_hangs:
                await asyncio.sleep(1e6)
            agent = (_found(build) if isinstance(build, str) else build)(scope)
            if inspect.isawaitable(agent):
                agent = await agent
            return Watched(agent, name, scope, f"{name}-{key_of(scope)}-{next(numbers)}", history)

        label = f"build{len(self._held)}"
        self._held[label] = watched
        return f"{__name__}:BUILDS.{label}"


def _found(import_string: str) -> Callable[[Any], Any]:
    module, _, path = import_string.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]  # the user's callable


BUILDS = Builds()
