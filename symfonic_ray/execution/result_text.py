"""The text of a tool's result: one written rule for every value. Knows no call, no limit and no model.

Text is itself. Everything else is JSON where JSON can say it, non-ASCII kept readable: None is ``null``, False is
``false``, an empty list is ``[]``. Sets become sorted lists, dataclasses and models objects, arrays lists, binary data
its UTF-8 text. What JSON cannot say is ``str(value)``, and what cannot be printed is named by its type.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Set
from typing import Any

from symfonic_ray.execution.signature import canonical_text


def result_text(value: Any) -> str:
    """The text of ``value``; never raises. Any: tools return what they like."""
    if type(value) is str:
        return value
    try:
        if isinstance(value, str):
            return str.__str__(value)
        return _json_or_str(value)
    except BaseException:  # printing runs the value's own code, which may raise anything at all
        return f"(a result of type {type(value).__name__}, which cannot be printed)"


def _json_or_str(value: Any) -> str:
    shown = value if value is None or isinstance(value, bool | int | float | list | tuple | dict) else _as_json(value)
    if type(shown) is str:  # text on its own stands without quotes
        return shown
    try:
        return json.dumps(shown, ensure_ascii=False, default=_as_json)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, a cycle, too deep
        return str(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=canonical_text)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    if isinstance(value, bytes | bytearray):
        return _bytes_text(value)
    for name in ("model_dump", "tolist"):  # pydantic models; arrays
        convert = getattr(value, name, None)
        if callable(convert) and not isinstance(value, type):
            return convert()
    return str(value)


def _bytes_text(value: bytes | bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"({len(value)} bytes, not text)"
