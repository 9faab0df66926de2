"""Rows of the run store as lines and as JSON data, and which of them fit a filter. Opens nothing, prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from symfonic_ray.kernel.text import CUT_MARK, clipped

if TYPE_CHECKING:
    from symfonic_ray.journal import HandOffRow, RunRow
    from symfonic_ray.report.run_tree import Branch

SCHEMA_VERSION = 1
_QUESTION_BYTES = 60
Row = TypeVar("Row", "RunRow", "HandOffRow")


class RowFilterError(ValueError):
    """A ``--filter`` that no row can be held against."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(text, problem)
        self.text, self.problem = text, problem

    def __str__(self) -> str:
        return f"--filter {self.text!r}: {self.problem}"


def fitting(rows: Sequence[Row], filters: Sequence[str], kind: type[Row]) -> list[Row]:
    """The rows that fit all of ``filters``, each ``KEY=VALUE`` or ``KEY!=VALUE``.

    Args:
        rows: any number, none too.
        filters: checked whether there is a row or not.
        kind: the type of a row, which tells the keys.
    Raises:
        RowFilterError: for a filter of another form, or a key that the rows do not have.
    """
    found = list(rows)
    known = [field.name for field in fields(kind)]
    for text in filters:
        left, equals, value = text.partition("=")
        if not equals:
            raise RowFilterError(text, "write KEY=VALUE or KEY!=VALUE")
        key, wanted = left.removesuffix("!"), not left.endswith("!")
        if key not in known:
            raise RowFilterError(text, f"there is no {key!r}; the keys are {', '.join(known)}")
        found = [row for row in found if (_text(getattr(row, key)) == value) is wanted]
    return found


def run_line(run: RunRow) -> str:
    """A run on one line."""
    took = "" if run.seconds is None else f"  {run.seconds:.1f} s"
    counts = f"{run.hand_offs} hand-offs" + (f", {run.failed} failed" if run.failed else "")
    return (
        f"{run.run_id}  {_when(run)}  {run.command}  {run.fleet}  scope {run.scope}  {run.outcome}{took}  {counts}  "
        f"{_short(run.question)}"
    )


def shown_lines(run: RunRow, hand_offs: Sequence[HandOffRow]) -> Iterator[str]:
    """A run in full, failures first."""
    from symfonic_ray.report.run_tree import titled

    yield run_line(run)
    if run.message:
        yield f"  {run.message}"
    if run.left_out:
        yield f"  {run.left_out} hand-offs are counted and not kept"
    for row in sorted(hand_offs, key=lambda row: row.delivered):
        ending = row.outcome + (f" ({row.reason})" if row.reason else "")
        yield f"  {titled(row)}  depth {row.depth}  {ending}  {row.seconds:.2f} s  {row.message}"


def runs_object(runs: Sequence[RunRow], *, total: int) -> dict[str, Any]:
    """The object of ``runs ls --json``; ``total`` counts those beyond the limit too."""
    return {"schema_version": SCHEMA_VERSION, "total": total, "runs": [asdict(run) for run in runs]}


def run_object(run: RunRow, hand_offs: Sequence[HandOffRow], *, total: int) -> dict[str, Any]:
    """The object of ``runs show --json``."""
    rows = [asdict(row) for row in hand_offs]
    return {"schema_version": SCHEMA_VERSION, "run": asdict(run), "total": total, "hand_offs": rows}


def tree_object(run: RunRow, branches: Sequence[Branch]) -> dict[str, Any]:
    """The object of ``runs tree --json``: each hand-off with what was handed on below it."""
    top: list[dict[str, Any]] = []
    waiting = [(branch, top) for branch in branches]
    while waiting:  # no recursion: a tree may be deeper than the stack
        branch, place = waiting.pop(0)
        below: list[dict[str, Any]] = []
        place.append({**_plain(branch.row), "handed_on": below})
        waiting.extend((inner, below) for inner in branch.below)
    return {"schema_version": SCHEMA_VERSION, "run": asdict(run), "tree": top}


def _plain(row: Any) -> dict[str, Any]:  # Any: the tree knows its rows by shape only
    return asdict(row)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _when(run: RunRow) -> str:
    return datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _short(text: str) -> str:
    words = clipped(text, limit_bytes=_QUESTION_BYTES)
    return words.removesuffix(CUT_MARK) + "..." if words.endswith(CUT_MARK) else words
