"""What was measured, as lines for a reader. Decides only how a number looks."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

_HEAD = ("", "ratio min", "median", "max", "ours", "hand-written Ray")


def table(found: Mapping[str, Any]) -> str:
    """A row for each key: ratios ours / hand-written Ray, and the median values."""
    rows = [_HEAD]
    notes = []
    for key, value in found.items():
        if isinstance(value, Mapping) and "ratio" in value:
            low, middle, high = (f"{number:.3g}" for number in value["ratio"])
            rows.append((key, low, middle, high, _value(value, "ours"), _value(value, "raw_ray")))
            notes += [f"{key}: {name} {number:g}" for name, number in value.items() if isinstance(number, float)]
        elif isinstance(value, list):
            notes += [f"{key}: " + ", ".join(f"{name} {number:g}" for name, number in row.items()) for row in value]
        elif key != "about" and isinstance(value, Mapping):
            notes += [f"{key}: {name.replace('_', ' ')}: {words}" for name, words in value.items()]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*(lines if len(rows) > 1 else []), *notes])


def _value(comparison: Mapping[str, Any], side: str) -> str:
    values = comparison.get(side)
    if not values:
        return ""
    middle, unit = statistics.median(values), comparison.get("unit", "")
    if unit.startswith("s") and middle < 0.1:
        scale, prefix = (1e6, "us") if middle < 1e-3 else (1e3, "ms")
        return f"{middle * scale:.3g} {prefix}{unit[1:]}"
    return f"{middle:,.3g} {unit}" if middle < 1000 else f"{middle:,.0f} {unit}"
