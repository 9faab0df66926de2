"""Runs of children in the caller's own process, of one scope, so that a stop reaches them too. Runs nothing itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class LocalRun:
    """One run in this process."""

    run_id: str
    root_run_id: str
    task: asyncio.Task[Any]
    why: str = ""
    """In words, once somebody asked it to stop."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once somebody asked it to stop: who waits for it need not wait for the end of code that never leaves."""

    def stop(self, why: str) -> None:
        """Ask it to stop; the first reason stands."""
        if not self.why:
            self.why = why
            self.asked.set()
            self.task.cancel()


class LocalRuns:
    """The runs of one scope that are present; belongs to one event loop."""

    def __init__(self) -> None:
        self._runs: set[LocalRun] = set()

    def begin(self, run: LocalRun) -> None:
        """Note one that starts."""
        self._runs.add(run)

    def end(self, run: LocalRun) -> None:
        """Note one that nobody waits for any more."""
        self._runs.discard(run)

    def stop(self, why: str, root_run_id: str | None = None) -> tuple[LocalRun, ...]:
        """Ask the runs of one tree, or all, to stop; gives those that were asked."""
        asked = tuple(run for run in self._runs if root_run_id in (None, run.root_run_id))
        for run in asked:
            run.stop(why)
        return asked
