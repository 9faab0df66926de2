"""One text for equal arguments, in every process. Knows no call and no tool; never raises.

The text is JSON for JSON values. What JSON lacks is written by kind: sets sorted, binary data and arrays by digest,
other objects by type and state, never by address.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Set
from typing import Any

DEPTH_SHOWN = 70  # a little over the 64 levels that a call may have; deeper values and cycles are cut

_SHOWN_BY_REPR = frozenset({"datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid", "zoneinfo"})
# modules whose values print all that they are, and no address


def canonical_text(value: Any) -> str:
    """The text of ``value``: equal for equal values, different for ``1``, ``"1"``, ``1.0`` and ``True``.

    Keys are sorted and lists keep their order. Two objects without readable state share the text of their type.
    """
    return _text(value, 0)


def _text(value: Any, depth: int) -> str:
    if value is None or value is True or value is False:
        return json.dumps(value)
    if type(value) in (str, int, float):
        return json.dumps(value) if type(value) is not int else _integer(value)
    if depth > DEPTH_SHOWN:
        return f"<{type(value).__qualname__} ...>"
    try:
        return _structure(value, depth)
    except Exception:  # a foreign object may raise from anything that is asked of it
        return f"<{type(value).__qualname__}>"


def _integer(value: int) -> str:
    return format(value, "x") + "h" if value.bit_length() > 10_000 else str(value)  # str() refuses over 4,300 digits


def _structure(value: Any, depth: int) -> str:
    if isinstance(value, Mapping):
        pairs = sorted((_text(name, depth + 1), _text(item, depth + 1)) for name, item in value.items())
        return "{" + ",".join(f"{name}:{item}" for name, item in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_text(item, depth + 1) for item in value) + "]"
    if isinstance(value, Set):
        return "set(" + ",".join(sorted(_text(item, depth + 1) for item in value)) + ")"
    return f"<{type(value).__qualname__}{_state(value, depth)}>"


def _state(value: Any, depth: int) -> str:
    if hasattr(value, "__qualname__"):  # a class or a function
        return f" {value.__qualname__}"
    if isinstance(value, str):
        return f" {json.dumps(str.__str__(value))}"
    if isinstance(value, int | float | complex | range) or type(value).__module__ in _SHOWN_BY_REPR:
        return f" {value!r}"
    buffer = _buffer(value)
    if buffer is not None:
        return f" {buffer}"
    if dataclasses.is_dataclass(value):
        return " " + _text({part.name: getattr(value, part.name) for part in dataclasses.fields(value)}, depth + 1)
    held = getattr(value, "__dict__", None)
    return " " + _text(held, depth + 1) if held else ""


def _buffer(value: Any) -> str | None:
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if "O" in view.format:  # an array of objects holds addresses
        return f"{view.format} {view.shape}"
    return f"{view.format} {view.shape} {hashlib.sha256(view.tobytes()).hexdigest()[:32]}"
