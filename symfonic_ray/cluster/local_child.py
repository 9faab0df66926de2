"""A child in the caller's own process: its turn and its deadline. Knows no host.

A hosted child is bounded by its host; one that runs here is queued and cancelled here.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

from symfonic_ray.cluster.contained_tasks import ChildExitError
from symfonic_ray.cluster.leases import Leases
from symfonic_ray.cluster.local_runs import LocalRun, LocalRuns
from symfonic_ray.cluster.turns import Turns
from symfonic_ray.delegation.adapted import AdaptedChild
from symfonic_ray.delegation.answers import usage_of
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.lockdown import SeeThrough
from symfonic_ray.kernel import Ambient, current_deadline
from symfonic_ray.kernel.text import about

UNWIND_SECONDS = 0.5  # a cancelled child may finish its own clean-up; one that will not is left behind

_NUMBERS = itertools.count(1)
_PRESENT: Ambient[tuple[str, ...]] = Ambient("symfonic_ray_local_children")


class LocalChild(SeeThrough):
    """An adapted child with bounded waits; runs of one instance do not overlap unless its placement says so.

    Args:
        adapted: the child.
        turns: shared by all that run the same instance.
        max_seconds: the bound where no deadline is in force.
        leases: count what runs hand to it.
        runs: where a stop of the scope finds it.
        admit: raises where the scope takes no work, or none of the tree with this root.
    """

    def __init__(
        self,
        adapted: AdaptedChild,
        turns: Turns,
        *,
        max_seconds: float,
        leases: Leases,
        runs: LocalRuns,
        admit: Callable[[str], None],
    ) -> None:
        self.agent = adapted
        self._turns = turns
        self._max_seconds = max_seconds
        self._leases = leases
        self._runs = runs
        self._admit = admit

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
        """Run the agent and return its response as it is.

        Raises:
            HandOffFault: reason ``timeout``, ``budget``, ``frozen``, or ``cancelled`` by a stop of its tree or scope.
        """
        self._admit(root_run_id or run_id or "")
        if parent_run_id is not None:
            await self._leases.take(root_run_id or parent_run_id)
        limit = current_deadline()
        seconds = self._max_seconds if limit is None else min(limit.remaining(now=time.monotonic()), self._max_seconds)
        running = asyncio.ensure_future(
            self._in_turn(
                query,
                scope=scope,
                run_id=run_id,
                agent_depth=agent_depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )
        )
        run = LocalRun(run_id or "", root_run_id or run_id or "", running)
        self._runs.begin(run)
        try:
            await _ended_or_asked(run, seconds)
            if not running.done() or run.why:
                running.cancel()
                await asyncio.wait((running,), timeout=UNWIND_SECONDS)
                left = "it ignored its cancellation and still runs in this process"
                how = "it was cancelled" if running.done() else left
                if run.why:
                    raise HandOffFault("cancelled", f"{run.why}; {how}")
                raise HandOffFault("timeout", f"no answer within {about(seconds)} seconds; {how}")
            response = running.result()
            if parent_run_id is not None:
                self._leases.settle(root_run_id or parent_run_id, usage_of(response))
            return response
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait((running,), timeout=UNWIND_SECONDS)
            raise
        finally:
            self._runs.end(run)

    async def _in_turn(self, query: str, **told: Any) -> Any:
        """The run, once the instance is free; one that comes back to it from further down its own tree goes ahead."""
        here = str(next(_NUMBERS))
        above = _PRESENT.current() or ()
        async with self._turns.turn(here, above):
            with _PRESENT.holding((*above, here)):
                try:
                    return await self.agent.run(query, **told)
                except (Exception, asyncio.CancelledError):
                    raise
                except BaseException as error:  # an exit of a child is its failure, not this process's end
                    raise ChildExitError(type(error).__name__, ", ".join(map(repr, error.args))) from None


async def _ended_or_asked(run: LocalRun, seconds: float) -> None:
    """Wait until a run has ended, was asked to stop, or has had its time."""
    asked = asyncio.ensure_future(run.asked.wait())
    try:
        await asyncio.wait((run.task, asked), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
