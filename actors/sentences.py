"""Where one sentence ends and the next begins. Characters only: knows no line, no markup, no question."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSERS = "\"'\u201d\u2019\u00bb)\\]*_"
_END = re.compile(
    rf"(?<![.!?\u2026])[.!?\u2026]++[{_CLOSERS}]*+(?=\s)"  # from the start of a run only: a line may be all dots
    r"|[\u3002\uff01\uff1f\u0964\u061f\u06d4]+[\u201d\u300d\u300f\uff09)]*"
    # Controls and line separators inside a line end a sentence, so that no quote holds one.
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]+"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'])(?:[A-Z]|[A-Za-z]\.[A-Za-z]|e\.g|i\.e|cf|vs|approx|dr|mr|mrs|ms|prof|st|no|nos|vol|fig|figs|sec|ch"
    r"|eq|jr|sr|al|pp|p|ca|min|max|dept|est|gen|rev|mt)\.$",
    re.IGNORECASE,
)
_BREAKS = re.compile(r"[;:,](?=\s)|\s")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]+$")


def pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """The places (start, end) of the sentences of ``text``, without the space around them.

    A sentence of more than ``limit`` characters comes in pieces, cut after a clause or a word where there is one.
    Abbreviations, initials and a small letter after the dot do not end a sentence.
    """
    start = 0
    for end in _ends(text):
        yield from _bounded(text, start, end, limit)
        start = end
    yield from _bounded(text, start, len(text), limit)


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match[0].startswith(".") and len(match[0].rstrip(_CLOSERS.replace("\\", ""))) == 1:
            following = text[match.end() : match.end() + 8].lstrip()[:1]
            if following.islower() or _ABBREVIATION.search(text[max(0, match.start() - 12) : match.start() + 1]):
                continue
        yield match.end()


def _bounded(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    control = _CONTROL.search(text, start, end)
    end = control.start() if control else end
    while start < end:
        while start < end and text[start].isspace():
            start += 1
        stop = end if end - start <= limit else _cut(text, start, limit)
        kept = len(text[start:stop].rstrip())
        if kept:
            yield start, start + kept
        start = stop


def _cut(text: str, start: int, limit: int) -> int:
    """Where a piece of at most ``limit`` characters that begins at ``start`` ends best."""
    window = text[start : start + limit]
    breaks = [(match[0] in ";:,", match.end()) for match in _BREAKS.finditer(window)]
    clauses = [place for is_clause, place in breaks if is_clause and place > limit // 2]
    words = [place for _, place in breaks if place > limit // 2]
    return start + (clauses[-1:] or words[-1:] or [len(window)])[0]
