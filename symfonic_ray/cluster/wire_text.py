"""Any Python text through JSON and back, unchanged. Knows no envelope.

JSON bytes are UTF-8, which has no lone surrogates, yet a model or a file can produce them. Such a text travels
escaped behind a mark; every other text travels as it is and costs one failed-fast check.
"""

from __future__ import annotations

import json

_ESCAPED = "\ufdd0escaped:"  # U+FDD0 is a noncharacter: no text that people exchange starts with it


def to_wire(text: str) -> str:
    """``text`` in a form that UTF-8 can carry; the inverse of ``from_wire``."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _ESCAPED + json.dumps(text)
    return _ESCAPED + json.dumps(text) if text.startswith(_ESCAPED) else text


def from_wire(text: str) -> str:
    """The text that ``to_wire`` was given."""
    return str(json.loads(text[len(_ESCAPED) :])) if text.startswith(_ESCAPED) else text


def wire_bytes(text: str) -> int:
    """Size of ``text`` in bytes of UTF-8, surrogates counted as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
