"""What is kept of a run and of its hand-offs, as values. Reads and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffRow:
    """One hand-off that has ended. Every text is cut to a bound before it gets here."""

    name: str
    """The child as it was asked for; a name that was no string is its repr."""
    task: str
    """The beginning of the task; empty for a hand-off made further down the tree."""
    depth: int
    outcome: str
    reason: str
    message: str
    """The beginning of the answer, or the words of the failure."""
    run_id: str
    root_run_id: str
    parent_run_id: str
    """Empty where it is not known."""
    scope_key: str
    generation: int
    fresh: bool
    queue_position: int | None
    started_seconds: float
    """After the start of the run; the start of a hand-off further down is reckoned from its end."""
    seconds: float
    usage: str
    """JSON object, or empty."""

    @property
    def delivered(self) -> bool:
        """Whether the child answered."""
        return self.outcome == "delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One command's run."""

    run_id: str
    command: str
    """Such as ``run`` or ``demo``."""
    fleet: str
    scope: str
    question: str
    started_at: float
    """Seconds since 1970."""
    seconds: float | None
    """None while it has not ended."""
    outcome: str
    """``running`` while it has not ended; ``lost`` where its process is gone and never said how it ended."""
    message: str
    hand_offs: int
    failed: int
    """Hand-offs that did not deliver."""
    left_out: int
    """Hand-offs that are counted and not kept, for want of room."""
    pid: int
    pid_started: str
    """Tells the process from a later one of the same number; empty where the system does not say."""
