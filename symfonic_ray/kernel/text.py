"""What text may stand on one line, and how an error is put into words. Knows no child, no scope, no tool."""

from __future__ import annotations

import re
import unicodedata

from symfonic_ray.kernel.redaction import without_environment_secrets

FAILURE_BYTES = 4096  # spec/trust.md P15: a failure is one line of at most 4 KiB
CUT_MARK = " ... (cut)"

_VARIATION_SELECTORS = frozenset([*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
_HANGUL_FILLERS = frozenset([0x115F, 0x1160, 0x3164, 0xFFA0])
_RUNS_OF_SPACE = re.compile(r"\s+")


def is_invisible(character: str) -> bool:
    """Whether a reader cannot see ``character``: control, format, variation selector or Hangul filler."""
    return (
        unicodedata.category(character) in ("Cc", "Cf")
        or ord(character) in _VARIATION_SELECTORS
        or ord(character) in _HANGUL_FILLERS
    )


def code_point(character: str) -> str:
    """A character named so that a reader can find it, such as ``U+200B ZERO WIDTH SPACE``."""
    return f"U+{ord(character):04X} {unicodedata.name(character, 'unnamed')}"


def collapsed(text: str) -> str:
    """``text`` on one line: line breaks, controls and invisible characters become single spaces."""
    if text.isascii() and text.isprintable():  # nearly every text; a hundred times as fast
        return " ".join(text.split())
    visible = "".join(" " if is_invisible(c) or unicodedata.category(c) in ("Zl", "Zp", "Cs") else c for c in text)
    return _RUNS_OF_SPACE.sub(" ", visible).strip()


def clipped(text: str, *, limit_bytes: int = FAILURE_BYTES) -> str:
    """``text``, cut to ``limit_bytes`` of UTF-8 with a mark where it is longer."""
    if len(text) * 4 <= limit_bytes:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return text
    return raw[: limit_bytes - len(CUT_MARK)].decode("utf-8", "ignore") + CUT_MARK


def about(seconds: float) -> str:
    """Seconds in as few digits as come within a twentieth: 0.497 is ``0.5``, since the rest was spent on the way."""
    rounded = (float(f"{seconds:.{digits}g}") for digits in (1, 2))
    near = next((value for value in rounded if abs(value - seconds) <= seconds / 20), seconds)
    return f"{near:.3g}" if near < 1000 else f"{near:.0f}"


def failure_line(error: BaseException) -> str:
    """An exception as one line of at most 4 KiB that starts with its type.

    An exception that cannot be printed is named by its type alone; nothing of it is called but ``str``. Secrets of the
    environment are taken out before anything is cut, so that no part of one is left.
    """
    kind = type(error).__name__
    try:
        words = str(error)
    except BaseException:
        words = "(its text cannot be printed)"
    head = without_environment_secrets(words)[: FAILURE_BYTES * 2] if isinstance(words, str) else ""
    line = collapsed(head)
    return clipped(f"{kind}: {line}" if line else kind)
