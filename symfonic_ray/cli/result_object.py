"""The one JSON object that a command with ``--json`` prints. Decides names and order of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symfonic_ray.compose import Quote
from symfonic_ray.config import ConfigProblem
from symfonic_ray.delegation import DelegationRecord

SCHEMA_VERSION = 1


def result_object(
    outcome: str,
    *,
    answer: str = "",
    message: str = "",
    quotes: Iterable[Quote] = (),
    notes: Iterable[str] = (),
    records: Iterable[DelegationRecord] = (),
    problems: Iterable[ConfigProblem] = (),
    seconds: float = 0.0,
) -> dict[str, Any]:
    """What came of ``run`` or ``demo``.

    Args:
        outcome: ``delivered``, ``partial`` (with ``--strict``), ``failed``, ``refused``, ``deadline``, ``cancelled``,
            ``unreachable`` or ``invalid``.
        answer: the answer; may be there although the outcome is another than ``delivered``.
        message: why the outcome is another than ``delivered``.
        quotes: passages that the answer cites.
        notes: what the parent has to say about its work.
        records: of every hand-off that ended.
        problems: of the fleet file; only with ``invalid``.
        seconds: from the question to the answer.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "outcome": outcome,
        "answer": answer,
        "message": message,
        "quotes": [
            {"file": quote.file, "line": quote.line, "text": quote.text, "child": quote.child} for quote in quotes
        ],
        "notes": list(notes),
        "records": [record.as_dict() for record in records],
        "problems": [problem_object(problem) for problem in problems],
        "seconds": round(seconds, 3),
    }


def problem_object(problem: ConfigProblem) -> dict[str, Any]:
    """One problem of a fleet file."""
    return {
        "file": problem.file,
        "line": problem.line,
        "key": problem.key,
        "problem": problem.problem,
        "remedy": problem.remedy,
    }
