"""Whether a history keeps what is promised. A pure function over events: knows no loop, no cluster, no seed.

The simulator and tests on a real cluster use it alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from symfonic_ray.testing.simulator.history import Event, History

ENDS = ("ok", "fail", "unknown", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What a history is held to."""

    late_seconds: float = 1.0
    """How long after its own time an operation may end; the sum of what is waited for one after another."""
    idempotent: frozenset[str] = frozenset()
    """Children that may run more than once for one hand-off."""
    concurrency: Mapping[str, int] = field(default_factory=dict)
    """Most runs of one instance at one time, by child; not checked for a child that is not named."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One promise that was broken."""

    promise: str
    operation: str
    words: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.operation or 'the fleet'}: {self.words}"


def check(history: History, promises: Promises) -> tuple[Violation, ...]:
    """What is broken, in the order of finding; empty when the history is sound."""
    by_operation: defaultdict[str, list[Event]] = defaultdict(list)
    found: list[Violation] = []
    jumps = []
    for event in history.events:
        if event.kind == "jump":
            jumps.append(event)
        elif event.kind == "error":
            found.append(Violation("no error is lost", "", event.words))
        elif event.kind != "fault":
            by_operation[event.operation].append(event)
    for operation, events in by_operation.items():
        found += _of_operation(operation, events, jumps, promises)
    found += _overlaps(history, promises)
    return tuple(found)


def _of_operation(operation: str, events: list[Event], jumps: list[Event], promises: Promises) -> list[Violation]:
    invokes = [event for event in events if event.kind == "invoke"]
    ends = [event for event in events if event.kind in ENDS]
    starts = [event for event in events if event.kind == "started"]
    found: list[Violation] = []
    if len(starts) > 1 and starts[0].child not in promises.idempotent:
        found.append(Violation("at most one effect", operation, f"its child started {len(starts)} times"))
    if not invokes and not ends:  # a hand-off of a child, which the child's own caller follows
        return found
    if len(invokes) != 1 or len(ends) != 1:
        found.append(Violation("exactly one record", operation, f"{len(invokes)} invoked, {len(ends)} ended"))
        return found
    invoke, end = invokes[0], ends[0]
    for event in (*starts, end):
        if event.scope_key not in ("", invoke.scope_key):
            words = f"of scope {invoke.scope_key!r}, it met {event.scope_key!r}"
            found.append(Violation("scopes never meet", operation, words))
    answers = {event.words for event in events if event.kind == "ended"}
    if end.kind == "ok" and end.words and end.words not in answers and "" not in answers:
        found.append(Violation("its own answer", operation, f"got {end.words[:80]!r}, which its child did not give"))
    if end.kind == "fail" and starts:
        found.append(Violation("a refusal ran nothing", operation, f"refused ({end.words}), yet its child started"))
    slept = sum(jump.seconds for jump in jumps if invoke.at <= jump.at <= end.at)
    late = end.at - invoke.at - invoke.seconds - slept
    if late > promises.late_seconds:
        found.append(Violation("every wait is bounded", operation, f"it ended {late:.3f} s after its time"))
    return found


def _overlaps(history: History, promises: Promises) -> list[Violation]:
    running: defaultdict[str, int] = defaultdict(int)
    found = []
    for event in history.events:
        if event.kind == "ended":
            running[event.instance] -= 1
        elif event.kind == "started":
            running[event.instance] += 1
            most = promises.concurrency.get(event.child)
            if most is not None and running[event.instance] > most:
                words = f"{running[event.instance]} runs of one {event.child} at once, {most} allowed"
                found.append(Violation("bounds are kept", event.operation, words))
    return found
