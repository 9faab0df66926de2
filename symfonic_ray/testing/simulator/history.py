"""What happened in a run of a fleet, event by event. A value: judges nothing, knows no loop and no cluster.

The same history is written by the simulator and by tests on a real cluster, and is judged by ``checker.check``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Literal

from symfonic_ray.delegation.values import DelegationRecord

Kind = Literal["invoke", "ok", "fail", "unknown", "cancelled", "started", "ended", "jump", "fault", "error"]

NOTHING_RAN = frozenset(
    {"depth", "unknown_child", "overload", "payload_too_large", "quarantined", "infeasible", "busy", "build_failed"}
    | {"build_timeout", "budget", "shutting_down"}
)
"""Reasons of a record that promise that the child did not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened."""

    at: float
    """Seconds on the clock of the history."""
    kind: Kind
    """``invoke``, then one of ``ok``, ``fail`` (nothing ran), ``unknown`` (it may have run) and ``cancelled``;
    ``started`` and ``ended`` of a child's own code; ``jump`` of the clock; ``fault``; ``error`` that nobody handled."""
    operation: str = ""
    """Which hand-off; for code of a child below another child, its run."""
    scope_key: str = ""
    child: str = ""
    instance: str = ""
    """Which built agent ran, for ``started`` and ``ended``."""
    seconds: float = 0.0
    """How long an operation may take; how far the clock jumped."""
    words: str = ""
    """The answer, or the reason, or what happened."""


class History:
    """Events in the order in which they were noted.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.events: list[Event] = []
        self.tasks: dict[str, str] = {}
        """Operation of each task text, for those that see only the text."""
        self._runs: dict[str, str] = {}
        self._closed = False

    def invoke(self, operation: str, *, scope_key: str, child: str, task: str, seconds: float) -> None:
        """A caller hands ``task`` to a child and will wait for at most ``seconds``."""
        self.tasks[task] = operation
        self._note("invoke", operation, scope_key=scope_key, child=child, seconds=seconds)

    def record(self, operation: str, record: DelegationRecord) -> None:
        """The caller has its record."""
        kind: Kind
        if record.outcome.delivered:
            kind, words = "ok", record.message
        else:
            words = record.reason
            kind = "fail" if record.reason in NOTHING_RAN else "unknown"
        self._note(kind, operation, scope_key=record.scope_key, child=str(record.name), words=words)

    def refused(self, operation: str, reason: str) -> None:
        """The caller was refused before there was a record."""
        self._note("fail", operation, words=reason)

    def cancelled(self, operation: str) -> None:
        """The caller was cancelled, so that nobody gets a record."""
        self._note("cancelled", operation)

    def done(self, operation: str, scope_key: str = "") -> None:
        """The operation went well and has no answer."""
        self._note("ok", operation, scope_key=scope_key)

    def started(self, task: str, run_id: str, *, scope_key: str, child: str, instance: str) -> str:
        """A child's own code starts on a task; gives the operation that it belongs to."""
        operation = self.tasks.get(task, run_id)
        self._note("started", operation, scope_key=scope_key, child=child, instance=instance)
        return operation

    def ended(self, operation: str, *, scope_key: str, child: str, instance: str, answer: str) -> None:
        """A child's own code has ended; ``answer`` is empty where it gave none in text."""
        self._note("ended", operation, scope_key=scope_key, child=child, instance=instance, words=answer)

    def run_name(self, run_id: str) -> str:
        """A name for a run that is the same in every repetition, unlike its id."""
        return self._runs.setdefault(run_id, f"run {len(self._runs) + 1}")

    def jump(self, seconds: float) -> None:
        """The clock jumps."""
        self._note("jump", "", seconds=seconds)

    def fault(self, words: str) -> None:
        """A fault was planted."""
        self._note("fault", "", words=words)

    def error(self, words: str) -> None:
        """An error reached nobody."""
        self._note("error", "", words=words)

    def close(self) -> None:
        """Note nothing any more."""
        self._closed = True

    def digest(self) -> str:
        """One hash of all events: the same seed gives the same."""
        lines = "\n".join(repr(astuple(event)) for event in self.events)
        return hashlib.sha256(lines.encode("utf-8", "backslashreplace")).hexdigest()

    def count(self, *kinds: Kind) -> int:
        """How many events are of these kinds."""
        return sum(event.kind in kinds for event in self.events)

    def _note(
        self,
        kind: Kind,
        operation: str,
        *,
        scope_key: str = "",
        child: str = "",
        instance: str = "",
        seconds: float = 0.0,
        words: str = "",
    ) -> None:
        if self._closed:
            return
        self.events.append(
            Event(
                at=round(self._clock(), 6),
                kind=kind,
                operation=operation,
                scope_key=scope_key,
                child=child,
                instance=instance,
                seconds=seconds,
                words=words,
            )
        )
