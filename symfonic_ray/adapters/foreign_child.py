"""What every foreign agent becomes: a child that is told its run and answers with text and usage.

Decides how a run of ours looks from inside a framework; knows no framework.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symfonic_ray.delegation.context import RUN
from symfonic_ray.kernel.tokens import Tokens, read_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRun:
    """The run that an agent carries out, as its own tools may ask for it."""

    scope: Any = None
    """Whom the run works for. Any: a scope is the adopter's own type."""
    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    agent_depth: int = 0

    @property
    def lineage(self) -> dict[str, str]:
        """Ids and depth as text, for a framework's own metadata; the scope is not in it."""
        return {
            "symfonic_run_id": self.run_id,
            "symfonic_root_run_id": self.root_run_id,
            "symfonic_parent_run_id": self.parent_run_id or "",
            "symfonic_agent_depth": str(self.agent_depth),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAnswer:
    """What a foreign agent said."""

    final_response: Any
    """A string, or JSON-like data that becomes JSON text."""
    error: str = ""
    """Why there is no answer."""
    usage: Mapping[str, int] | None = None
    """``input_tokens``, ``output_tokens``, ``total_tokens`` of the run; None where the framework does not say."""


class ForeignChild(ABC):
    """One foreign agent as a child. Its depth is read from the run in flight, which whoever runs it holds open."""

    agent: Any

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> ForeignAnswer:
        """Put ``query`` to the agent; what the agent raises leaves untouched."""
        active = RUN.current()
        run = ChildRun(
            scope=scope,
            run_id=run_id or "",
            root_run_id=root_run_id or run_id or "",
            parent_run_id=parent_run_id,
            agent_depth=0 if active is None else active.depth,
        )
        return await self.answer(query, run)

    @abstractmethod
    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """What the agent says to ``query``."""

    @abstractmethod
    def palette(self) -> tuple[str, ...]:
        """The names of the tools that the agent's model is offered, as far as they can be read without running it."""


def tokens_used(*usages: Any) -> dict[str, int] | None:
    """The sum of what a framework counted; None where it tells of none. Any: each has a form of its own."""
    tokens = sum(map(read_tokens, usages), Tokens())
    return tokens.as_dict() if tokens.total_tokens else None
