"""What came of one task, as one line of the results. Decides names and order of its fields; runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symfonic_ray.bulk.tasks import BulkTask

INVALID = "invalid"
"""Outcome of a line that is no task; its reason is ``malformed``."""
UNKNOWN = "unknown"
"""Outcome of a task that an earlier run of the job left running."""

_UNKNOWN_WORDS = (
    "an earlier run of this job ended while this task ran, so whether it had its effect is not known; "
    "--rerun-unknown runs it again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkResult:
    """One task's end."""

    index: int
    """The task's place among the tasks, from 0."""
    line: int
    """Its line in the file of tasks, from 1."""
    id: Any
    """As the user gave it; None without one."""
    outcome: str
    """A ``DelegationOutcome``, ``invalid`` or ``unknown``."""
    reason: str
    """Why it was not delivered; empty when it was."""
    message: str
    """The child's text, or why there is none."""
    seconds: float = 0.0
    run_id: str = ""
    usage: Mapping[str, Any] | None = None
    fresh: bool = False
    """Whether the child had been rebuilt just before, so that it remembered nothing."""

    @property
    def delivered(self) -> bool:
        """Whether the child answered."""
        return self.outcome == "delivered"

    @property
    def ran(self) -> bool:
        """Whether there was a hand-off whose seconds mean something."""
        return self.outcome not in (INVALID, UNKNOWN)

    def as_line(self, job: str | None = None) -> str:
        """One JSON object on one line of ASCII, with a line feed.

        Args:
            job: which journal's job it belongs to; left out when None.
        """
        fields: dict[str, Any] = {
            "index": self.index,
            "id": self.id,
            "line": self.line,
            "outcome": self.outcome,
            "reason": self.reason,
            "message": self.message,
            "seconds": round(self.seconds, 6),
            "run_id": self.run_id,
            "usage": None if self.usage is None else dict(self.usage),
            "fresh": self.fresh,
        }
        if job is not None:
            fields["job"] = job
        return json.dumps(fields) + "\n"


def invalid_result(task: BulkTask) -> BulkResult:
    """The result of a line that is no task."""
    return BulkResult(
        index=task.index, line=task.line, id=task.id, outcome=INVALID, reason="malformed", message=task.problem
    )


def unknown_result(task: BulkTask) -> BulkResult:
    """The result of a task that was running when an earlier run of its job ended."""
    return BulkResult(
        index=task.index, line=task.line, id=task.id, outcome=UNKNOWN, reason=UNKNOWN, message=_UNKNOWN_WORDS
    )


def record_result(task: BulkTask, record: Mapping[str, Any]) -> BulkResult:
    """The result of a hand-off.

    Args:
        task: what was handed over.
        record: as ``DelegationRecord.as_dict`` gives it.
    """
    return BulkResult(
        index=task.index,
        line=task.line,
        id=task.id,
        outcome=record["outcome"],
        reason=record["reason"],
        message=record["message"],
        seconds=record["seconds"],
        run_id=record["run_id"],
        usage=record["usage"],
        fresh=record["fresh"],
    )
