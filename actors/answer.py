"""How an answer of quotations reads. Puts given quotes and notes into words; chooses none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symfonic_ray.kernel.text import is_invisible

LABEL = "no language model used: these are quotations"
NOTHING_FOUND = "no passage answers this"
NOTHING_READ = "no file was read, so nothing is known about this"
MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Quote:
    """An exact part of one line of a file."""

    file: str
    """Relative to the input folder, with ``/``."""
    line: int
    """From 1; lines end at ``\\n`` alone."""
    text: str
    """At most 400 characters."""
    child: str
    """Name of the child that found it."""


def with_quotes(groups: Sequence[Sequence[Quote]], notes: Sequence[str], *, phrased: str = "") -> str:
    """The groups, best first, each line as ``file:line: text``; then what was not read.

    What was ``phrased`` from them comes first; where nothing was, the label tells that no model was used.
    """
    shown = ["\n".join(f"{printable(q.file)}:{q.line}: {q.text}" for q in group) for group in groups]
    parts = [phrased, *shown] if phrased else [*shown, LABEL]
    return "\n\n".join([*parts, *_not_read(notes)])


def no_passage(read: Sequence[str], notes: Sequence[str]) -> str:
    """That nothing answers, which files were read, and what was not."""
    files = [printable(file) for file in read]
    head = [NOTHING_FOUND, _bounded("read", "files", files)] if files else [NOTHING_READ]
    return "\n\n".join([*head, *_not_read(notes)])


def printable(name: str) -> str:
    """``name`` on one line, with what a reader cannot see as escapes."""
    return "".join(ascii(c)[1:-1] if is_invisible(c) or c in "\u2028\u2029" else c for c in name)


def _not_read(notes: Sequence[str]) -> list[str]:
    return [_bounded("not read", "entries", [printable(note) for note in notes])] if notes else []


def _bounded(title: str, what: str, lines: Sequence[str]) -> str:
    rest = len(lines) - MAX_SHOWN
    more = [f"  and {rest} more"] if rest > 0 else []
    return "\n".join([f"{title} ({len(lines)} {what}):", *(f"  {line}" for line in lines[:MAX_SHOWN]), *more])
