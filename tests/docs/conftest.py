"""The pages, cut into their parts. Knows nothing of what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[A-Za-z]*)[^\n]*\n(?P<text>.*?)^ *(?P=fence) *$", re.M | re.S
)
_MARK = re.compile(r"<!-- (runs|runs on Ray) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block of a page."""

    page: str
    line: int
    """1-based, of its first line of code."""
    language: str
    text: str
    mark: str
    """``runs``, ``runs on Ray``, or empty: what the comment right above it says."""
    output: str
    """The next block, where that is of the language ``text``: what it prints."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Every page of the project."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    made = []
    for place, match in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else None
        before = text[: match.start()]
        mark = _MARK.search(before)
        made.append(
            Block(
                page=named(page),
                line=before.count("\n") + 2,
                language=match["language"],
                text=match["text"],
                mark=mark[1] if mark else "",
                output=after["text"] if after is not None and after["language"] == "text" else "",
            )
        )
    return made


def prose(page: Path) -> str:
    """A page without its code blocks, lines kept."""
    return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text(encoding="utf-8"))


BLOCKS = [block for page in pages() for block in blocks(page)]
