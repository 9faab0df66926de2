"""A child that always raises. Decides nothing."""

from __future__ import annotations

from typing import Any, NoReturn


class FailingRunner:
    """A ``ChildRunner`` whose every run raises ``error``."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.runs = 0
        """How often it was run."""

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> NoReturn:
        """Raise."""
        self.runs += 1
        raise self.error
