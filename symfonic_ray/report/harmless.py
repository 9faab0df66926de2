"""Which characters of foreign text may reach a terminal. Knows no markup: rich's is escaped where rich is called."""

from __future__ import annotations

import unicodedata

_LEFT_ALONE = frozenset("\n\t")
_TURNS_TEXT_ROUND = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def harmless(text: str) -> str:
    """``text`` with control characters, marks that reorder text, and lone surrogates written as escapes.

    Line feeds and tabs stay. Joiners stay too: some scripts cannot be read without them.
    """
    return "".join(_escaped(c) if _is_harmful(c) else c for c in text)


def _is_harmful(character: str) -> bool:
    if character in _LEFT_ALONE:
        return False
    return character in _TURNS_TEXT_ROUND or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
