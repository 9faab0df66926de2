"""The figures of a run's report: failures by cause, time of its own, slowest path, lanes, tokens. Knows no HTML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from symfonic_ray.report.run_tree import Branch, HandOff

LANES = 24  # a lane a host; more would push the tree off the page
_NAMED = 3  # children of one host that are named
_LEAST_WIDTH = 2.0  # of 1000, so that a short hand-off can be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Failures of one outcome and reason."""

    cause: str
    count: int
    rows: tuple[HandOff, ...]
    """The first few of them, one for each child and message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One hand-off in a lane; ``left`` and ``width`` are thousandths of the run."""

    row: HandOff
    left: float
    width: float


def ending(row: HandOff) -> str:
    """Such as ``delivered`` or ``child_failed (timeout)``."""
    return f"{row.outcome} ({row.reason})" if row.reason else row.outcome


def failure_groups(rows: Sequence[HandOff], *, shown_of_each: int) -> list[FailureGroup]:
    """The failures by cause, the most frequent first."""
    by_cause: dict[str, list[HandOff]] = defaultdict(list)
    for row in rows:
        if row.outcome != "delivered":
            by_cause[ending(row)].append(row)
    groups = []
    for cause, failed in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        unlike = {(row.name, row.message): row for row in reversed(failed)}
        shown = tuple(reversed(unlike.values()))[:shown_of_each]
        groups.append(FailureGroup(cause=cause, count=len(failed), rows=shown))
    return groups


def outcomes(rows: Sequence[HandOff]) -> list[tuple[str, int]]:
    """How often each ending came, the most frequent first."""
    return Counter(ending(row) for row in rows).most_common()


def every_branch(top: Sequence[Branch]) -> Iterator[Branch]:
    """All branches, each before those below it."""
    waiting = list(reversed(top))
    while waiting:
        branch = waiting.pop()
        yield branch
        waiting.extend(reversed(branch.below))


def waited_seconds(branch: Branch) -> float:
    """How much of a hand-off's time at least one of those that it handed on was out."""
    begin, end = branch.row.started_seconds, branch.row.started_seconds + branch.row.seconds
    covered, reached = 0.0, begin
    for inner in sorted(branch.below, key=lambda inner: inner.row.started_seconds):
        left = max(reached, inner.row.started_seconds)
        right = min(end, inner.row.started_seconds + inner.row.seconds)
        covered += max(0.0, right - left)
        reached = max(reached, right)
    return min(covered, branch.row.seconds)


def slowest_path(top: Sequence[Branch]) -> list[HandOff]:
    """From the slowest hand-off of the root down, each time to the slowest below."""
    path: list[HandOff] = []
    level = list(top)
    while level:
        slowest = max(level, key=lambda branch: branch.row.seconds)
        path.append(slowest.row)
        level = slowest.below
    return path


def last_end(rows: Sequence[HandOff]) -> float:
    """Seconds from the start of the run to the last end of a hand-off; 0 without any."""
    return max((row.started_seconds + row.seconds for row in rows), default=0.0)


def lanes(rows: Sequence[HandOff]) -> list[tuple[str, list[Bar]]]:
    """The hand-offs of each host over the time of the run, by what it serves; the busiest ``LANES`` hosts."""
    whole = last_end(rows) or 1.0
    by_host: dict[tuple[int, str], list[Bar]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.outcome != "delivered"):  # failures are drawn over the others
        width = max(_LEAST_WIDTH, 1000 * row.seconds / whole)
        left = min(1000 * row.started_seconds / whole, 1000 - _LEAST_WIDTH)
        by_host[host_of(row)].append(Bar(row=row, left=left, width=width))
    busiest = sorted(by_host.items(), key=lambda item: -len(item[1]))[:LANES]
    return [(host_name(host, [bar.row.name for bar in bars]), bars) for host, bars in busiest]


def host_of(row: HandOff) -> tuple[int, str]:
    """What tells the host of a hand-off from others: the build that ran it; in the caller's own process the child."""
    return (row.generation, "") if row.generation else (0, row.name)


def host_name(host: tuple[int, str], children: Sequence[str]) -> str:
    """A host in words, such as ``reader, host 3``; of a child that ran in no host its name alone."""
    generation, name = host
    if not generation:
        return name
    names = sorted(set(children))
    return f"{', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}, host {generation}"


def tokens(usages: Sequence[str]) -> int:
    """The tokens that usages, as JSON, tell of: ``total_tokens``, else the sum of all that end in ``_tokens``."""
    found = 0
    for text in usages:
        usage = json.loads(text) if text else {}
        counts = {key: value for key, value in usage.items() if type(value) is int and key.endswith("tokens")}
        found += counts.get("total_tokens", sum(counts.values()))
    return found
