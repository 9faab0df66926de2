"""What a line of a text or markdown file is: a heading, a row, an item, prose or noise. Knows no question.

Judges one line at a time, with the next one where that decides; keeps no state of the file.
"""

from __future__ import annotations

import re

HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
FENCE = re.compile(r"[ \t>]{0,8}(`{3,}|~{3,})")
UNDERLINE = re.compile(r"[ ]{0,3}([=\-~^*+#\"'])\1{2,}[ \t]*$")
_RULING = re.compile(r"[\s|:+=\-_*~#.]+")
_TWO_MARKS = re.compile(r"[|:+=\-_*~#.]{2}")
MARKER = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+\u2022\u25e6\u2043]|\(?\d{1,3}[.)]|\[[ xX]\])[ \t]+)*")
ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+\u2022\u25e6\u2043]|\(?\d{1,3}[.)])[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\||.*\S[ \t]+\|[ \t]+.*\|")
_BOLD_ALONE = re.compile(r"[ \t]*(\*\*|__)[^*_]+\1:?[ \t]*$")
_IMAGE = re.compile(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])?")
_LINK = re.compile(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])")
_LINK_TARGET = re.compile(r"[ \t]*(\[[^\]]+\]:|\.\.[ \t]+_[^:]+:|\.\.[ \t]+\|[^|]+\|)")
_ADDRESS = re.compile(r"<?\b(?:https?|ftp|mailto):\S+|\bwww\.\S+")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->")
_TAGGED_LINK = re.compile(r"<a\b[^<>]*>.*?</a>")
_TAGGED_HEADING = re.compile(r"[ \t]*(?:</?(?:section|div)[^<>]*>)*<h([1-6])\b[^<>]*>(.*)")
_CODE = re.compile(
    r"\s*(?:(?:async )?def \w+\(|class \w+[(:]|from \S+ import |import [\w.]+$|assert |@\w+|>>> |\$ |[}\])]+[;,]?$)"
    r"|.*(?: [=!+*/-]?=[=>]? |[;{}\[(]\s*$|\w\([^()]*\)[:;,]?\s*$)"
)
_CODE_CHARACTERS = 200  # a longer line is not looked at: the pattern tries every place of it
_WORD = re.compile(r"[^\W\d_]{2,}|\d+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{4}")
_SIGNS = re.compile(r"[\W_]+")


def is_ruling(line: str) -> bool:
    """Whether ``line`` is drawn: the line of a table, or one between two parts of a text."""
    return _RULING.fullmatch(line) is not None and _TWO_MARKS.search(line) is not None


def is_row(line: str) -> bool:
    """Whether ``line`` is a row of a table."""
    return "|" in line and _ROW.match(line) is not None


def is_heading_alone(line: str) -> bool:
    """Whether ``line`` is a heading by its looks: capitals throughout, or a line of nothing but bold text."""
    bare = line.strip()
    if _BOLD_ALONE.match(line):
        return True
    return len(bare) <= 80 and bare.isupper() and not bare.endswith(".") and sum(c.isalpha() for c in bare) >= 4


def is_link_target(line: str) -> bool:
    """Whether ``line`` only says where a link of the text leads."""
    return _LINK_TARGET.match(line) is not None


def is_code(line: str) -> bool:
    """Whether ``line`` looks like a line of a program, which never runs on into the next as prose does."""
    return len(line) <= _CODE_CHARACTERS and _CODE.match(line) is not None


def tagged_heading(line: str) -> tuple[int, str] | None:
    """Level and words of an HTML heading; None when ``line`` is none."""
    matched = _TAGGED_HEADING.match(line) if "<h" in line else None
    return (int(matched[1]), without_tags(matched[2]).strip()) if matched else None


def without_tags(text: str) -> str:
    """``text`` with a space for each HTML tag and comment."""
    return _TAG.sub(" ", text) if "<" in text else text


def is_noise(text: str) -> bool:
    """Whether ``text`` can answer nothing: links, an address, markup, fewer than two words, or mostly signs."""
    bare = without_tags(_without_links(text))
    if "://" in bare or "www." in bare:
        bare = _ADDRESS.sub(" ", bare)
    if not _has_two_words(bare) and not _UNSPACED.search(bare):
        return True
    return text.isascii() and len(_SIGNS.sub("", text)) < len("".join(text.split())) * 0.5


def _without_links(text: str) -> str:
    """``text`` without images, and without links where it is little more than links."""
    if "](" in text or "][" in text:
        text = _IMAGE.sub(" ", text)
        rest = _LINK.sub(" ", text)
    elif "</a>" in text:
        rest = without_tags(_TAGGED_LINK.sub(" ", text))
    else:
        return text
    return text if _has_two_words(rest) else rest


def _has_two_words(text: str) -> bool:
    first = _WORD.search(text)
    return first is not None and _WORD.search(text, first.end()) is not None
