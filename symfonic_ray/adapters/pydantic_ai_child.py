"""A Pydantic AI agent as a child. Decides its dependencies and which tools can be read; the agent stays unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from symfonic_ray.adapters.foreign_child import ChildRun, ForeignAnswer, ForeignChild, tokens_used
from symfonic_ray.adapters.foreign_error import ForeignAgentError, kind_of
from symfonic_ray.delegation.lockdown import palette_names


class PydanticAIChild(ForeignChild):
    """Runs the agent; one whose ``deps_type`` is ``ChildRun`` gets the run as its dependencies."""

    def __init__(self, agent: Any, *, deps: Callable[[ChildRun], Any] | None = None) -> None:
        """Take the agent as it is.

        Args:
            agent: a ``pydantic_ai.Agent``.
            deps: the agent's dependencies for a run, where they are not the run itself.
        Raises:
            ForeignAgentError: for an agent with dependencies of another type and no ``deps``.
        """
        wanted = agent.deps_type
        if deps is None and wanted not in (object, type(None), ChildRun):
            raise ForeignAgentError(
                kind_of(agent),
                f"wants dependencies of type {getattr(wanted, '__name__', wanted)}",
                "say what they are for a run: deps=lambda run: ...",
            )
        self.agent = agent
        self._deps = deps or (_the_run if wanted is ChildRun else _nothing)

    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """The agent's output; one of a model is its JSON text."""
        result = await self.agent.run(query, deps=self._deps(run), metadata=run.lineage)
        return ForeignAnswer(final_response=result.output, usage=tokens_used(result.usage))

    def palette(self) -> tuple[str, ...]:
        """The function tools of every toolset; not those of MCP servers or of toolsets made in the run."""
        sets = [leaf for toolset in self.agent.toolsets for leaf in _leaves(toolset)]
        return tuple(dict.fromkeys(name for leaf in sets for name in palette_names(SimpleNamespace(tools=leaf))))


def _leaves(toolset: Any) -> Iterator[Any]:
    """The tools of the toolsets inside ``toolset``."""
    found: list[Any] = []
    toolset.apply(found.append)
    for leaf in found:
        tools = getattr(leaf, "tools", None)
        if tools is not None:
            yield tools


def _the_run(run: ChildRun) -> Any:
    return run


def _nothing(run: ChildRun) -> Any:
    return None
