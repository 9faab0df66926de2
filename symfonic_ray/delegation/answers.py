"""What a child's response says. The one reading of it; knows no roster, no run, no transport.

A response is foreign: a string, a mapping, or any object. Nothing it does while it is read crashes the reader.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import HandOffFacts, HandOffReply
from symfonic_ray.kernel.text import clipped, collapsed, failure_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response, read."""

    text: str
    """The stripped final response; empty when there is none."""
    error: str = ""
    """The response's own words on what went wrong: one line, at most 4 KiB."""
    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    usage: Mapping[str, Any] | None = None
    delegated_to: tuple[str, ...] = ()


def read_answer(response: object) -> Answer:
    """Read a child's response.

    Args:
        response: a string, or a mapping or object with ``final_response`` and, where it has them, ``error``,
            ``run_id``, ``root_run_id``, ``parent_run_id``, ``usage``, ``delegated_to``.
    Returns:
        The answer; a ``final_response`` that is not a string is its JSON text, with non-ASCII kept.
    Raises:
        HandOffFault: reason ``serialization``, if ``final_response`` has no JSON text; carries the run ids.
    """
    if isinstance(response, str):
        return Answer(text=str.__str__(response).strip())
    if type(response) is HandOffReply:
        facts = response.facts
        return Answer(
            text=response.final_response.strip(),
            error=response.error,
            run_id=facts.run_id,
            root_run_id=facts.root_run_id,
            parent_run_id=facts.parent_run_id,
            usage=response.usage,
            delegated_to=response.delegated_to,
        )
    run_id, root_run_id, parent_run_id = (
        _id(_read(response, "run_id")),
        _id(_read(response, "root_run_id")),
        _id(_read(response, "parent_run_id")) or None,
    )
    facts = HandOffFacts(run_id=run_id, root_run_id=root_run_id, parent_run_id=parent_run_id)
    delegated_to = _read(response, "delegated_to")
    return Answer(
        text=_text(_read(response, "final_response"), facts),
        error=_error_line(_read(response, "error")),
        run_id=run_id,
        root_run_id=root_run_id,
        parent_run_id=parent_run_id,
        usage=_usage(_read(response, "usage")),
        delegated_to=tuple(name for name in delegated_to if isinstance(name, str))
        if isinstance(delegated_to, (list, tuple))
        else (),
    )


def json_text(value: object) -> str:
    """``value`` as JSON text with non-ASCII kept.

    Models are read by ``model_dump(mode="json")``, dataclasses by their fields.

    Raises:
        Exception: whatever says that it has no JSON form; NaN and infinity have none.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)


def _read(response: object, name: str) -> Any:
    try:
        return response.get(name) if isinstance(response, Mapping) else getattr(response, name, None)
    except Exception:
        return None


def _text(value: object, facts: HandOffFacts) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value).strip()
    try:
        return json_text(value)
    except Exception as error:
        raise HandOffFault(
            "serialization",
            f"the final response, a {type(value).__name__}, has no JSON text ({failure_line(error)}); "
            "answer with a string or with JSON-like data",
            facts,
        ) from error


def _error_line(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, BaseException):
        return failure_line(value)
    try:
        return clipped(collapsed(str(value)))
    except Exception:
        return f"a {type(value).__name__} that cannot be printed"


def usage_of(response: object) -> Mapping[str, Any] | None:
    """What a response says it used, as plain JSON data; None when it tells nothing readable."""
    return response.usage if isinstance(response, HandOffReply) else _usage(_read(response, "usage"))


def _usage(value: object) -> Mapping[str, Any] | None:
    if value is None:
        return None
    try:
        read = json.loads(json_text(value))
    except Exception:
        return None
    return read if isinstance(read, dict) else None


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(value: object) -> object:
    # looked up on the type: a proxy that answers every attribute is no model
    if callable(getattr(type(value), "model_dump", None)):
        return value.model_dump(mode="json")  # type: ignore[attr-defined]  # structural: pydantic is not imported here
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")
