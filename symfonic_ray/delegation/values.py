"""What a hand-off leaves behind: outcome, reason, facts, reply, record. Plain values: knows no roster and no runner."""

from __future__ import annotations

import reprlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from symfonic_ray.kernel.text import collapsed

SHOWN_CHARACTERS = 200  # enough to recognise a name; a model may send megabytes as one

REASONS = frozenset(
    {
        "",
        "depth",
        "unknown_child",
        "budget",
        "overload",
        "frozen",
        "exception",
        "no_final_response",
        "timeout",
        "cancelled",
        "actor_died",
        "node_died",
        "out_of_memory",
        "controller_lost",
        "build_failed",
        "infeasible",
        "busy",
        "quarantined",
        "serialization",
        "payload_too_large",
        "scope_mismatch",
        "lockdown",
        "shutting_down",
    }
)
"""The closed set of reason codes; the empty one belongs to a delivered hand-off."""

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = SHOWN_CHARACTERS


def shown(value: object) -> str:
    """A repr of ``value`` on one line, at most a little over 200 characters; never raises."""
    try:
        text = _SHOWN.repr(value)
    except Exception:
        text = f"<{type(value).__name__} that cannot be printed>"
    line = collapsed(text)
    return line if len(line) <= SHOWN_CHARACTERS + 2 else line[:SHOWN_CHARACTERS] + "..."


class DelegationOutcome(StrEnum):
    """How one hand-off ended."""

    DELIVERED = "delivered"
    REFUSED_DEPTH = "refused_depth"
    UNKNOWN_CHILD = "unknown_child"
    CHILD_FAILED = "child_failed"
    REFUSED_BUDGET = "refused_budget"
    REFUSED_OVERLOAD = "refused_overload"

    @property
    def delivered(self) -> bool:
        """Whether the child answered."""
        return self is DelegationOutcome.DELIVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffFacts:
    """What the border knows of a hand-off, whatever the child says."""

    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    scope_key: str = ""
    """The key of the scope that the child's host is bound to; empty in process."""
    generation: int = 0
    """Which build of the child ran it; 0 in process."""
    fresh: bool = False
    """Whether this is the first record after a rebuild, so that the child's memory is empty."""
    queue_position: int | None = None
    """Place in the admission queue when the hand-off had to wait; None when it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffReply:
    """What a remote runner returns.

    Only from this exact type are the border's own facts copied into a record: a child's response that looks like
    one cannot forge them.
    """

    final_response: str
    facts: HandOffFacts
    usage: Mapping[str, Any] | None = None
    delegated_to: tuple[str, ...] = ()
    error: str = ""

    @property
    def run_id(self) -> str:
        """The child's run."""
        return self.facts.run_id

    @property
    def root_run_id(self) -> str:
        """The run at the top of the tree."""
        return self.facts.root_run_id

    @property
    def parent_run_id(self) -> str | None:
        """The run that handed over the work."""
        return self.facts.parent_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationRecord:
    """One hand-off, from the parent's side."""

    name: Any
    """What was asked, verbatim; Any because a model may send any JSON value as a name."""
    outcome: DelegationOutcome
    depth: int
    """Where the child ran, or would have run."""
    message: str
    """The child's stripped text, or the words of the refusal or failure."""
    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    reason: str = ""
    """A code of ``REASONS``; empty when delivered."""
    usage: Mapping[str, Any] | None = None
    """What the child's response said it used, as plain JSON data."""
    seconds: float = 0.0
    """Monotonic wall time of the hand-off."""
    scope_key: str = ""
    generation: int = 0
    fresh: bool = False
    queue_position: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Every field as plain JSON data; a name that is not a string becomes its bounded repr."""
        data: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        data["name"] = self.name if isinstance(self.name, str) else shown(self.name)
        data["outcome"] = self.outcome.value
        data["usage"] = None if self.usage is None else dict(self.usage)
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDefinition:
    """What a catalogue shows of a child."""

    name: str
    description: str
    version: str = "1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToolSpec:
    """A tool that delegation offers to the parent's model."""

    name: str
    description: str
    coroutine: Callable[..., Awaitable[str]]
    parameters: tuple[str, ...] = ()
    """The coroutine's parameter names, for a binder to compare; empty means unchecked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeardownReport:
    """What became of one phase of a teardown."""

    verb: str
    """``flush``, ``aclose``, or ``flush+aclose`` for both."""
    attempted: int = 0
    """How many children were asked, those without the method included."""
    failures: tuple[str, ...] = ()
    """One line a failure; each starts with the child's name."""

    @property
    def clean(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def merge(self, other: TeardownReport) -> TeardownReport:
        """Both phases as one report."""
        return TeardownReport(
            verb=f"{self.verb}+{other.verb}",
            attempted=self.attempted + other.attempted,
            failures=(*self.failures, *other.failures),
        )
