"""A text as passages: sentences, items and rows, each with the lines it stands on. Knows no question and no file.

A line ends at ``\\n`` alone (one ``\\r`` before it belongs to the ending); every segment of a passage is an exact part
of its line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from actors.markup import (
    FENCE,
    HEADING,
    ITEM,
    MARKER,
    UNDERLINE,
    is_code,
    is_heading_alone,
    is_link_target,
    is_noise,
    is_row,
    is_ruling,
    tagged_heading,
)
from actors.sentences import pieces

QUOTE_CHARACTERS = 400  # a quote of one line is at most this long
_WRAPPED_CHARACTERS = 1_000  # a sentence over several lines is at most this long
_WRAP_WIDTHS = range(40, 140)  # lines as long as these may have been wrapped by an editor
_REPEATS_OF_BOILERPLATE = 3
_FRONT_MATTER_LINES = 100
_ANNOUNCES = ("?", "\uff1f", "\u061f", ":", "\uff1a")  # what follows says it, not the sentence itself
_FIGURES = re.compile(r"\d")
_FIRST_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Segment:
    """An exact part of one line."""

    line: int
    """From 1."""
    text: str
    """At most 400 characters, without space at its ends."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One statement of a text and what stands around it."""

    segments: tuple[Segment, ...]
    """One for each line it stands on, in order; never empty."""
    heading: str = ""
    """The headings it stands under."""
    lead: str = ""
    """The question or the line with a colon that it follows, or the head of its table."""
    before: str = ""
    """The sentence before it in its paragraph."""

    @property
    def text(self) -> str:
        """The whole statement on one line."""
        return " ".join(segment.text for segment in self.segments)


@dataclass(slots=True)
class _Line:
    number: int
    text: str
    """Without its ending."""
    indent: int = 0
    """Characters before the words: space, quote marks, list markers."""

    @property
    def words(self) -> str:
        return self.text[self.indent :].rstrip()


@dataclass(slots=True)
class _Around:
    """What the lines above say about the next block."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    lead: str = ""
    lead_is_fresh: bool = False
    """Whether no block has followed the lead yet."""

    @property
    def heading(self) -> str:
        return " / ".join(text for _, text in self.headings)

    def enter(self, level: int, text: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, text))
        self.lead = ""

    def follow(self, lead: str) -> None:
        self.lead, self.lead_is_fresh = lead, True


def passages(text: str, *, first_line: int = 1, markdown: bool = False, fence: str = "") -> list[Passage]:
    """Cut ``text`` into passages, noise left out.

    Headings, rulings, code blocks, front matter, lists of links, questions, lines of one word and statements that
    the text repeats three times or more are not passages; headings and questions are kept as what stands around one.

    Args:
        text: whole lines; a byte order mark at its head is ignored.
        first_line: number of the first line of ``text``, from 1.
        markdown: whether ``#`` headings, code fences and front matter mean something.
        fence: the mark of the code block that is open at the start; empty outside code.
    """
    lines = [
        _Line(number, line.removesuffix("\r"))
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), first_line)
    ]
    around = _Around()
    found: list[Passage] = []
    for block in _blocks(lines, around, markdown, fence):
        found.extend(_of_block(block, around))
    repeats = Counter(passage.text for passage in found)
    return [passage for passage in found if repeats[passage.text] < _REPEATS_OF_BOILERPLATE]


def _blocks(lines: list[_Line], around: _Around, markdown: bool, fence: str) -> Iterator[list[_Line]]:
    """Paragraphs, items and rows; ``around`` is kept up to date between two of them."""
    block: list[_Line] = []
    at = _end_of_front_matter(lines) if markdown and lines[0].number == 1 else 0
    for index in range(at, len(lines)):
        line = lines[index]
        bare = line.text.strip()
        mark = FENCE.match(line.text) if markdown else None
        if mark or fence:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence):
                fence = ""
            ends, heading = True, None
        else:
            heading = _heading(line, lines[index + 1].text if index + 1 < len(lines) else "", markdown)
            ends = not bare or heading is not None or is_ruling(bare) or is_link_target(bare)
        row = not ends and is_row(bare)
        if block and (ends or row or ITEM.match(line.text)):
            yield block
            block = []
        if heading:
            around.enter(*heading)
        elif row and index + 1 < len(lines) and is_ruling(lines[index + 1].text):
            around.follow(bare[:QUOTE_CHARACTERS])
        elif not ends:
            matched = MARKER.match(line.text)
            line.indent = matched.end() if matched else 0
            block.append(line)
            if row:
                yield block
                block = []
    if block:
        yield block


def _end_of_front_matter(lines: list[_Line]) -> int:
    if lines[0].text.rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:_FRONT_MATTER_LINES], 1):
        if line.text.rstrip() in ("---", "..."):
            return index + 1
    return 0


def _heading(line: _Line, below: str, markdown: bool) -> tuple[int, str] | None:
    """Level and words of a heading; None when ``line`` is none."""
    bare = line.text.strip()
    if not bare or len(bare) > 200:
        return None
    if markdown and (matched := HEADING.match(line.text)):
        return len(matched[1]), matched[2]
    if tagged := tagged_heading(line.text):
        return tagged
    underlined = UNDERLINE.match(below)
    if underlined and not ITEM.match(line.text) and not is_row(bare) and not is_ruling(bare) and len(bare) <= 100:
        return (1 if underlined[1] in "=#*" else 2), bare
    return (6, bare.strip("*_:")) if is_heading_alone(line.text) else None


def _of_block(block: list[_Line], around: _Around) -> Iterator[Passage]:
    """The passages of one block; ``around`` learns its questions and its closing colon."""
    is_list = is_row(block[0].text.strip()) or ITEM.match(block[0].text) is not None
    if not is_list and not around.lead_is_fresh:
        around.lead = ""
    lead, around.lead_is_fresh = around.lead, False
    before = ""
    for run in _runs(block):
        longest = max(len(line.text) for line in run)
        limit = _WRAPPED_CHARACTERS if longest <= QUOTE_CHARACTERS else QUOTE_CHARACTERS
        words = [line.words for line in run]
        starts = list(accumulate((len(part) + 1 for part in words), initial=0))
        joined = "\n".join(words)
        for start, end in pieces(joined, limit):
            said = joined[start:end]
            if said.rstrip("*_\"')\u201d\u2019").endswith(_ANNOUNCES):
                lead = said
                around.follow(said)
                continue
            if not is_noise(said):
                first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
                yield Passage(
                    tuple(_segments(run[first : last + 1], said)),
                    around.heading,
                    lead,
                    before,
                )
            before = said


def _runs(block: list[_Line]) -> Iterator[list[_Line]]:
    """Lines that one sentence may run across; lines that are records of their own stay alone."""
    width = max(len(line.text.rstrip()) for line in block)
    run = [block[0]]
    for line in block[1:]:
        if _runs_on(run[-1], line, width):
            run.append(line)
        else:
            yield run
            run = [line]
    yield run


def _runs_on(line: _Line, below: _Line, width: int) -> bool:
    matched, opening = _FIRST_WORD.match(below.words), _FIRST_WORD.match(line.words)
    first, own_first = (matched[0] if matched else ""), (opening[0] if opening else "")
    if _FIGURES.search(first) and _FIGURES.sub("0", first) == _FIGURES.sub("0", own_first):
        return False  # two lines of a log start alike
    if is_code(line.text) or is_code(below.text):
        return False
    length = len(line.text.rstrip())
    if first[:1].islower() and length * 2 >= width:
        return True
    return width in _WRAP_WIDTHS and length + 1 + len(first) > width


def _segments(lines: list[_Line], said: str) -> Iterator[Segment]:
    """What stands on each of the lines over which ``said`` runs."""
    for line, part in zip(lines, said.split("\n"), strict=True):
        yield Segment(line.number, part.strip()[:QUOTE_CHARACTERS].rstrip())
