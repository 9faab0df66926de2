"""How a bulk job ended, as a table, as one JSON object and as an exit code. Prints nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symfonic_ray.bulk import BulkSummary
from symfonic_ray.cli.exit_codes import ExitCode

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEnding:
    """What a bulk job came to."""

    summary: BulkSummary
    results: Path
    seconds: float
    """Of this run, from the first hand-off to the last result."""
    handed_over: int
    """Results of this run; the others were there before."""
    stopped: str = ""
    """Why it ended before its tasks did; empty if it did not."""
    interrupted: bool = False

    @property
    def outcome(self) -> str:
        """``delivered``, ``partial``, ``failed`` or ``cancelled``."""
        if self.interrupted:
            return "cancelled"
        if self.stopped or (self.summary.total and not self.summary.delivered):
            return "failed"
        return "delivered" if self.summary.delivered == self.summary.total else "partial"

    @property
    def message(self) -> str:
        """What is to be said of it besides the numbers; empty when all were delivered."""
        if self.interrupted:
            return "interrupted: the results so far are kept"
        if self.stopped:
            return f"stopped: {self.stopped}"
        missing = self.summary.total - self.summary.delivered
        return f"{missing:,} of {self.summary.total:,} tasks were not delivered" if missing else ""

    def code(self, *, strict: bool) -> ExitCode:
        """The exit code."""
        partial = ExitCode.PARTIAL if strict else ExitCode.DELIVERED
        return {
            "delivered": ExitCode.DELIVERED,
            "partial": partial,
            "failed": ExitCode.FAILED,
            "cancelled": ExitCode.CANCELLED,
        }[self.outcome]

    def as_object(self) -> dict[str, Any]:
        """Everything as plain JSON data."""
        summary = self.summary
        return {
            "schema_version": SCHEMA_VERSION,
            "outcome": self.outcome,
            "message": self.message,
            "results": str(self.results),
            "total": summary.total,
            "delivered": summary.delivered,
            "handed_over": self.handed_over,
            "by_outcome": dict(summary.by_outcome),
            "by_reason": dict(summary.by_reason),
            "seconds_per_task": {name: round(value, 6) for name, value in summary.percentiles.items()},
            "slowest": [
                {"index": task.index, "id": task.id, "outcome": task.outcome, "seconds": round(task.seconds, 6)}
                for task in summary.slowest
            ],
            "seconds": round(self.seconds, 3),
            "tasks_per_second": round(self.handed_over / self.seconds, 1) if self.seconds else 0.0,
        }

    def as_table(self) -> str:
        """The same for a reader, a fact a line."""
        summary = self.summary
        rows = [(name, f"{count:,}") for name, count in summary.by_outcome.items()]
        rows += [(f"  {reason}", f"{count:,}") for reason, count in summary.by_reason.items()]
        if summary.percentiles:
            rows.append(("seconds a task", "  ".join(f"{n} {v:.3f}" for n, v in summary.percentiles.items())))
        for place, task in enumerate(summary.slowest):
            name = f"index {task.index}" + ("" if task.id is None else f", id {json.dumps(task.id)[:60]}")
            rows.append(("slowest" if not place else "", f"{task.seconds:.3f}  {task.outcome}  {name}"))
        rate = f"{self.handed_over / self.seconds:,.0f} a second" if self.seconds else "nothing"
        rows.append(("this run", f"{self.handed_over:,} results in {self.seconds:.1f} s, {rate}"))
        rows.append(("results", f"{self.results}: {summary.total:,} lines"))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {words}" for name, words in rows)


def ended_early(outcome: str, words: str) -> dict[str, Any]:
    """The object of a job that handed nothing over.

    Args:
        outcome: ``invalid``, ``unreachable``, ``failed`` or ``cancelled``.
        words: why.
    """
    return {"schema_version": SCHEMA_VERSION, "outcome": outcome, "message": words}
