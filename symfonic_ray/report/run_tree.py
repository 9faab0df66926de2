"""The tree of a run that has ended, from its rows. Decides who stands below whom; knows no store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.tree import shown_task


class HandOff(Protocol):
    """What is needed of a hand-off to draw it."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def parent_run_id(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def started_seconds(self) -> float: ...
    @property
    def generation(self) -> int: ...


@dataclass(slots=True)
class Branch:
    """A hand-off and what its run handed on."""

    row: HandOff
    below: list[Branch] = field(default_factory=list)


def titled(row: HandOff) -> str:
    """The child, and in a few words what it was asked about, where that is known."""
    task = shown_task(row.task)
    return f"{row.name} ({task})" if task else row.name


def nested(rows: Sequence[HandOff]) -> list[Branch]:
    """The hand-offs of the root, in order of their start, each with those below it.

    One whose parent is not among the rows stands at the top; so does one that claims to be its own ancestor.
    """
    branches = [Branch(row) for row in sorted(rows, key=lambda row: row.started_seconds)]
    by_run = {branch.row.run_id: branch for branch in branches if branch.row.run_id}
    top = []
    for branch in branches:
        parent = by_run.get(branch.row.parent_run_id)
        if parent is None or _is_above(branch, parent, by_run):
            top.append(branch)
        else:
            parent.below.append(branch)
    return top


def _is_above(branch: Branch, other: Branch | None, by_run: dict[str, Branch]) -> bool:
    seen: set[int] = set()
    while other is not None and id(other) not in seen:
        if other is branch:
            return True
        seen.add(id(other))
        other = by_run.get(other.row.parent_run_id)
    return False


def tree_lines(title: str, top: Sequence[Branch]) -> Iterator[str]:
    """The tree as indented lines; the words of a failure stand beside it."""
    yield harmless(title)
    waiting = [(branch, 1) for branch in reversed(top)]
    while waiting:  # no recursion: a tree may be deeper than the stack
        branch, depth = waiting.pop()
        row = branch.row
        ending = row.outcome + (f" ({row.reason})" if row.reason else "")
        why = "" if row.outcome == "delivered" else f"  {row.message}"
        yield harmless(f"{'  ' * depth}{titled(row)}  {ending}  {row.seconds:.2f} s{why}")
        waiting.extend((inner, depth + 1) for inner in reversed(branch.below))
