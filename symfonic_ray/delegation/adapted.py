"""A foreign agent in the shape of a ``ChildRunner``. Decides only whether the run's depth must be held for it."""

from __future__ import annotations

import inspect
from typing import Any

from symfonic_ray.delegation.calling import AgentCall
from symfonic_ray.delegation.context import DelegationContext
from symfonic_ray.delegation.lockdown import SeeThrough
from symfonic_ray.kernel import RunIdentity


class AdaptedChild(SeeThrough):
    """One agent, called with the keywords that its own signature names.

    An agent that is not told its depth is run inside a run scope of that depth: otherwise what it delegates would
    be counted from its parent's depth, and the ceiling would never be reached.
    """

    def __init__(self, name: str, agent: Any, context: DelegationContext) -> None:  # Any: an agent is foreign
        self.name = name
        self.agent = agent
        self._context = context
        self._call = AgentCall(agent)

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
        """Run the agent and return its response as it is."""
        if self._call.names_depth:
            return await self._call(
                query,
                scope=scope,
                run_id=run_id,
                agent_depth=agent_depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )
        identity = None if not run_id else RunIdentity(run_id, root_run_id or run_id, parent_run_id)
        async with self._context.run_scope(depth=agent_depth, identity=identity):
            return await self._call(
                query,
                scope=scope,
                run_id=run_id,
                agent_depth=agent_depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )

    async def flush_background_tasks(self) -> None:
        """The agent's own flush, where it has one."""
        await self._forward("flush_background_tasks")

    async def aclose(self) -> None:
        """The agent's own close, where it has one."""
        await self._forward("aclose")

    async def _forward(self, method: str) -> None:
        clean_up = getattr(self.agent, method, None)
        if callable(clean_up):
            pending = clean_up()
            if inspect.isawaitable(pending):
                await pending


def adapt_child(name: str, agent: Any, context: DelegationContext) -> AdaptedChild:
    """``agent`` as a ``ChildRunner``, whether it speaks ``run(prompt)`` or names some of the run keywords."""
    return AdaptedChild(name, agent, context)
