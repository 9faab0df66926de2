"""An agent of the OpenAI Agents SDK as a child. Decides its context, its trace group, and which tools it may reach."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from symfonic_ray.adapters.foreign_child import ChildRun, ForeignAnswer, ForeignChild, tokens_used
from symfonic_ray.delegation.lockdown import assert_no_write_surface, palette_names

MAX_TURNS = 10


class OpenAIAgentsChild(ForeignChild):
    """Runs the agent with ``Runner.run``; its tools find the ``ChildRun`` as ``wrapper.context``.

    Cancelling the run cancels the SDK's. Where the SDK's tracing is on, the tree's root run is the trace's group.
    """

    def __init__(self, agent: Any, *, max_turns: int = MAX_TURNS) -> None:
        """Take the agent as it is.

        Args:
            agent: an ``agents.Agent``.
            max_turns: the model's turns in one run; the SDK raises when they are used up.
        """
        self.agent = agent
        self._max_turns = max_turns

    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """The agent's final output.

        Raises:
            ChildLockdownError: if a server of the Model Context Protocol offers what no child may hold.
        """
        from agents import RunConfig, RunContextWrapper, Runner

        for part in _reachable(self.agent):
            if getattr(part, "mcp_servers", None):  # what they offer is known only by asking
                offered = await part.get_mcp_tools(RunContextWrapper(run))
                assert_no_write_surface(str(part.name), SimpleNamespace(tools=offered))
        config = RunConfig(group_id=run.root_run_id or None, trace_metadata=dict(run.lineage))
        result = await Runner.run(self.agent, query, context=run, max_turns=self._max_turns, run_config=config)
        return ForeignAnswer(final_response=result.final_output, usage=tokens_used(result.context_wrapper.usage))

    def palette(self) -> tuple[str, ...]:
        """The tools of the agent and of every agent that it may hand over to; not those of MCP servers."""
        return tuple(dict.fromkeys(name for part in _reachable(self.agent) for name in palette_names(part)))


def _reachable(agent: Any) -> Iterator[Any]:
    """The agent and those that it may hand over to, each once."""
    waiting, seen = [agent], {id(agent)}
    while waiting:
        part = waiting.pop()
        yield part
        for handoff in getattr(part, "handoffs", None) or ():
            reference = getattr(handoff, "_agent_ref", None)  # a Handoff holds its agent weakly
            target = reference() if callable(reference) else handoff
            if target is not None and id(target) not in seen:
                seen.add(id(target))
                waiting.append(target)
