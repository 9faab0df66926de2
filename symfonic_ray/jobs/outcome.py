"""The last line of a job's log: one JSON object that says how it ended, since Ray itself keeps only a status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

MARK = "symfonic_ray_job"
"""The member by which the line is known; its value is the version of the form."""
VERSION = 1


def outcome_line(told: Mapping[str, Any], *, exit_code: int, results_log: str | None) -> str:
    """The line.

    Args:
        told: what the command printed.
        exit_code: of the command.
        results_log: name of the file of results among the node's logs; None where there is none.
    """
    return json.dumps({MARK: VERSION, **told, "exit_code": exit_code, "results_log": results_log})


def outcome_in(lines: Iterable[str]) -> dict[str, Any] | None:
    """The last outcome among the lines of a log; None when there is none."""
    found: dict[str, Any] | None = None
    for line in lines:
        if line.startswith("{") and MARK in line:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and value.get(MARK) == VERSION and isinstance(value.get("exit_code"), int):
                found = value
    return found
