"""The report of one run as a single HTML file. Decides what is shown and how much; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined

from symfonic_ray.kernel.text import clipped, collapsed
from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.run_figures import (
    ending,
    every_branch,
    failure_groups,
    lanes,
    last_end,
    outcomes,
    slowest_path,
    tokens,
    waited_seconds,
)
from symfonic_ray.report.run_tree import Branch, HandOff, nested, titled

SHOWN_ROWS = 2000  # some 1 MB of page; failures are the last to be left out
_OPEN_WHOLE = 40  # a tree of so many rows is shown unfolded
_TEXT_BYTES = 240


class Run(Protocol):
    """What is needed of a run."""

    @property
    def run_id(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def fleet(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def started_at(self) -> float: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def outcome(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def hand_offs(self) -> int: ...
    @property
    def failed(self) -> int: ...


class ReportedHandOff(HandOff, Protocol):
    """What is needed of a hand-off."""

    @property
    def usage(self) -> str: ...
    @property
    def queue_position(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class _Step:
    """One step in writing the tree: a leaf, or the beginning or end of a branch."""

    kind: str
    row: HandOff | None = None
    below: int = 0
    unfolded: bool = False


def html_report(run: Run, rows: Sequence[ReportedHandOff]) -> str:
    """The page of one run: no script, nothing from outside, light and dark.

    Args:
        run: the run.
        rows: its hand-offs; beyond 2,000 those that delivered are left out first, and the page says so.
    """
    shown = sorted(rows, key=lambda row: row.outcome == "delivered")[:SHOWN_ROWS]
    top = nested(shown)
    branches = list(every_branch(top))
    waited = sum(waited_seconds(branch) for branch in branches)
    environment = Environment(
        loader=PackageLoader("symfonic_ray.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = _short
    return environment.get_template("run_report.html").render(
        run=run,
        started=datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        left_out=run.hand_offs - len(shown) if run.hand_offs > len(shown) else 0,
        groups=failure_groups(rows, shown_of_each=5),
        outcomes=outcomes(rows),
        total=len(rows),
        working=sum(branch.row.seconds for branch in branches) - waited,
        waited=waited,
        queued=sum(row.queue_position is not None for row in rows),
        tokens=tokens([row.usage for row in rows]),
        path=slowest_path(top),
        lanes=lanes(shown),
        whole=last_end(shown),
        steps=list(_steps(top)),
        ending=ending,
        titled=titled,
    )


def _steps(top: Sequence[Branch]) -> Iterator[_Step]:
    failing = _failing(top)
    small = len(failing) <= _OPEN_WHOLE
    waiting: list[Branch | None] = list(reversed(top))
    while waiting:  # no recursion: a tree may be deeper than the stack
        branch = waiting.pop()
        if branch is None:
            yield _Step("end")
        elif branch.below:
            yield _Step("begin", branch.row, len(branch.below), small or failing[id(branch)])
            waiting.append(None)
            waiting.extend(reversed(branch.below))
        else:
            yield _Step("leaf", branch.row)


def _failing(top: Sequence[Branch]) -> dict[int, bool]:
    """Of each branch, whether something below it failed."""
    failing: dict[int, bool] = {}
    for branch in reversed(list(every_branch(top))):  # what is below comes first
        failing[id(branch)] = any(inner.row.outcome != "delivered" or failing[id(inner)] for inner in branch.below)
    return failing


def _short(text: str) -> str:
    return clipped(harmless(collapsed(text)), limit_bytes=_TEXT_BYTES)
