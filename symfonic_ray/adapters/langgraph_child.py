"""A compiled LangGraph graph as a child. Decides its thread, its context, and that an interrupt is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from symfonic_ray.adapters.foreign_child import ChildRun
from symfonic_ray.adapters.langchain_child import LangChainChild


class LangGraphChild(LangChainChild):
    """Every run is a thread of its own: what a checkpointer keeps is never read by another run or tenant.

    A graph whose ``context_schema`` is ``ChildRun`` gets the run as its context too.
    """

    async def invoke(self, given: Any, config: dict[str, Any], run: ChildRun) -> Any:
        """The graph's last state."""
        config["configurable"]["thread_id"] = run.run_id or uuid4().hex
        if getattr(self.agent, "context_schema", None) is ChildRun:
            return await self.agent.ainvoke(given, config, context=run)
        return await self.agent.ainvoke(given, config)

    def problem(self, output: Any) -> str:
        """That the graph waits for a human, where it does."""
        if isinstance(output, Mapping) and output.get("__interrupt__"):
            return "the graph stopped at an interrupt and waits for somebody; a child has nobody to ask"
        return ""
