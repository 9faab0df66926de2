"""What of a tool's result crosses between processes: its text up to a limit, its value up to another. Runs no tool.

A result is never dropped and never an error for its size: the text is cut with a mark that tells how long it was, and
a value that is too large, or that cannot be pickled, is replaced by a ``WithheldValue``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ray import cloudpickle

from symfonic_ray.cluster.wire_text import wire_bytes
from symfonic_ray.kernel.text import failure_line

_DUMPS: Callable[[Any], bytes] = cloudpickle.dumps
_PLAIN = (type(None), bool, int, float, str, bytes)


@dataclass(frozen=True, slots=True)
class WithheldValue:
    """Stands for a value that stayed in the process of the tool and ended with it."""

    kind: str
    """The name of the value's type."""
    size_bytes: int | None
    """What it measured, pickled; None where it could not be pickled."""
    why: str
    """In words."""


def cut_text(text: str, *, limit_bytes: int) -> str:
    """``text``; where it is longer than ``limit_bytes`` of UTF-8, its beginning and a mark with its whole size."""
    if len(text) * 4 <= limit_bytes or (size := wire_bytes(text)) <= limit_bytes:
        return text
    if text.isascii():
        head = text[:limit_bytes]
    else:
        head = text[:limit_bytes].encode("utf-8", "surrogatepass")[:limit_bytes].decode("utf-8", "ignore")
    return f"{head}\n... (cut: the whole result has {size} bytes, {limit_bytes} are allowed)"


def packed_value(value: Any, *, limit_bytes: int) -> bytes:
    """``value`` pickled, or the ``WithheldValue`` that stands for it. Any: tools are foreign."""
    kind = type(value).__name__
    try:
        data = pickle.dumps(value, 5) if type(value) in _PLAIN else _DUMPS(value)
    except BaseException as error:  # pickling runs the value's own code
        return pickle.dumps(WithheldValue(kind, None, f"it cannot be sent to another process ({failure_line(error)})"))
    if len(data) > limit_bytes:
        why = f"it has {len(data)} bytes, {limit_bytes} are allowed"
        return pickle.dumps(WithheldValue(kind, len(data), why))
    return data


def unpacked_value(data: bytes) -> Any:
    """What ``packed_value`` was given, or its stand-in. Any: tools are foreign."""
    try:
        return pickle.loads(data)
    except BaseException as error:  # a class that this process cannot import, or code of the value's own
        return WithheldValue("unknown", len(data), f"it cannot be read in this process ({failure_line(error)})")
