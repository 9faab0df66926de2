"""What was measured, as one SVG picture: how many times better than hand-written Ray. Draws; computes nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

HIGHER_IS_BETTER = frozenset({"throughput_32", "throughput_256"})

_LEFT, _WIDTH, _RIGHT, _ROW, _TOP = 180, 520, 90, 26, 46
_STEPS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_BETTER, _WORSE = "#2f7d5b", "#b4532a"


def chart(found: Mapping[str, Any]) -> str:
    """A bar for each comparison: the median on a logarithmic scale, and a thin line from least to greatest."""
    bars = [
        (key, *_gains(key, value["ratio"]))
        for key, value in found.items()
        if isinstance(value, Mapping) and "ratio" in value and not key.endswith("_vs_ideal")
    ]
    values = [number for _, *numbers in bars for number in numbers]
    low, high = math.log(min([0.5, *values])), math.log(max([2.0, *values]))

    def x(value: float) -> float:
        return _LEFT + _WIDTH * (math.log(value) - low) / (high - low)

    height = _TOP + _ROW * len(bars) + 20
    bottom = height - 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="18" font-size="14">Times better than hand-written Ray; line: least to greatest</text>',
    ]
    for step in _STEPS:
        if low <= math.log(step) <= high:
            stroke = "#444" if step == 1 else "#ddd"
            parts.append(f'<line x1="{x(step):.1f}" x2="{x(step):.1f}" y1="38" y2="{bottom}" stroke="{stroke}"/>')
            parts.append(f'<text x="{x(step):.1f}" y="34" text-anchor="middle" fill="#666">{step:g}</text>')
    for place, (key, least, middle, greatest) in enumerate(bars):
        y = _TOP + _ROW * place
        start, end = sorted((x(1.0), x(middle)))
        colour = _BETTER if middle >= 1 else _WORSE
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(key)}</text>')
        parts.append(f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="18" fill="{colour}"/>')
        reach = f'x1="{x(least):.1f}" x2="{x(greatest):.1f}" y1="{y + 9}" y2="{y + 9}"'
        parts.append(f'<line {reach} stroke="#111" stroke-width="2"/>')
        parts.append(f'<text x="{max(end, x(greatest)) + 6:.1f}" y="{y + 13}">{middle:.3g}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _gains(key: str, ratio: list[float]) -> tuple[float, float, float]:
    """Least, median and greatest gain: a ratio of times or sizes is turned round."""
    least, middle, greatest = ratio
    return (least, middle, greatest) if key in HIGHER_IS_BETTER else (1 / greatest, 1 / middle, 1 / least)
