"""A child that answers what it was given and remembers how it was called. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCall:
    """One call of a ``RecordingRunner``."""

    query: str
    scope: Any
    run_id: str | None
    agent_depth: int
    root_run_id: str | None
    parent_run_id: str | None


class RecordingRunner:
    """A ``ChildRunner`` with canned answers.

    Args:
        answers: one a call, in order; the last one stands for every later call. Without any, ``done``.
    """

    def __init__(self, *answers: Any) -> None:  # Any: a response may be of any form
        self._answers = answers or ("done",)
        self.calls: list[RunnerCall] = []
        """Every call so far."""
        self.clean_up: list[str] = []
        """``flush`` and ``aclose``, in the order they were asked for."""

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
        """Remember the call and give the next answer."""
        answer = self._answers[min(len(self.calls), len(self._answers) - 1)]
        self.calls.append(
            RunnerCall(
                query=query,
                scope=scope,
                run_id=run_id,
                agent_depth=agent_depth,
                root_run_id=root_run_id,
                parent_run_id=parent_run_id,
            )
        )
        return answer

    async def flush_background_tasks(self) -> None:
        """Remember the flush."""
        self.clean_up.append("flush")

    async def aclose(self) -> None:
        """Remember the close."""
        self.clean_up.append("aclose")
