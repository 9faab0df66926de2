"""A run as Chrome trace events, for chrome://tracing and Perfetto. Decides the lanes; writes no file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from symfonic_ray.kernel.text import clipped, collapsed
from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.run_figures import host_name
from symfonic_ray.report.run_tree import HandOff

_TEXT_BYTES = 240


def chrome_trace(title: str, rows: Sequence[HandOff]) -> dict[str, Any]:
    """The object of a trace file: one complete event a hand-off, in microseconds from the start of the run.

    Each host is a process of the trace; what ran in the caller's own, or in none, is in the first. A lane holds
    hand-offs of one child that do not overlap, as viewers nest events of a lane that do: a child with several runs at
    once has several lanes.

    Args:
        title: names the first process of the trace.
        rows: the hand-offs.
    """
    events: list[dict[str, Any]] = [_naming("process_name", 0, 0, title)]
    served: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        served[row.generation].append(row.name)
    for host in sorted(served.keys() - {0}):
        events.append(_naming("process_name", host, 0, host_name((host, ""), served[host])))
    free_at: dict[tuple[int, str], list[tuple[int, int]]] = {}  # by host and child: (lane, microsecond it is free at)
    lanes = 0
    for row in sorted(rows, key=lambda row: row.started_seconds):
        begin, length = round(row.started_seconds * 1e6), round(row.seconds * 1e6)
        of_child = free_at.setdefault((row.generation, row.name), [])
        place = next((place for place, (_, free) in enumerate(of_child) if free <= begin), None)
        if place is None:
            lanes += 1
            place = len(of_child)
            of_child.append((lanes, 0))
            events.append(_naming("thread_name", row.generation, lanes, row.name))
        lane = of_child[place][0]
        of_child[place] = (lane, begin + length)
        events.append(
            {
                "name": _line(row.name),
                "cat": "hand_off",
                "ph": "X",
                "ts": begin,
                "dur": length,
                "pid": 1 + row.generation,
                "tid": lane,
                "args": {
                    "outcome": row.outcome,
                    "reason": row.reason,
                    "message": _line(row.message),
                    "run_id": row.run_id,
                    "parent_run_id": row.parent_run_id,
                },
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _naming(what: str, host: int, lane: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": 1 + host, "tid": lane, "args": {"name": _line(name)}}


def _line(text: str) -> str:
    return clipped(harmless(collapsed(text)), limit_bytes=_TEXT_BYTES)
