"""A symfonic-core agent as a child. Decides the scope it is given and counts its tokens; the rest it speaks already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from symfonic_ray.adapters.foreign_child import ChildRun, ForeignAnswer, ForeignChild, tokens_used
from symfonic_ray.delegation.lockdown import palette_names


class SymfonicChild(ForeignChild):
    """Runs the agent in the memory of the run's scope alone."""

    def __init__(self, agent: Any, *, to_scope: Callable[[Any], Any] | None = None) -> None:
        """Take the agent as it is.

        Args:
            agent: a ``SymfonicAgent``.
            to_scope: the framework's scope for one of ours; by default a name becomes the tenant of that name, and
                anything else is handed on.
        """
        self.agent = agent
        self._to_scope = to_scope or _tenant

    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """The agent's final response, or what it was built to give in a structure."""
        said = await self.agent.run(query, scope=self._to_scope(run.scope), run_id=run.run_id or None)
        final = said.final_response if said.structured is None else said.structured
        usages = [message.get("usage_metadata") for message in said.messages if isinstance(message, Mapping)]
        return ForeignAnswer(final_response=final, usage=tokens_used(*usages))

    def palette(self) -> tuple[str, ...]:
        """What the agent's own registry holds."""
        return palette_names(self.agent)

    async def flush_background_tasks(self) -> None:
        """The agent's own flush: memories that are still being written."""
        await _done(self.agent.flush_background_tasks())

    async def aclose(self) -> None:
        """The agent's own close."""
        await _done(self.agent.aclose())


def _tenant(scope: Any) -> Any:
    if not isinstance(scope, str):
        return scope
    from symfonic.agent import FrameworkTenantScope

    return FrameworkTenantScope.root("tenant", scope)


async def _done(pending: Any) -> None:
    if inspect.isawaitable(pending):
        await pending
