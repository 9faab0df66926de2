"""What pydantic found, in the words of a fleet file's author. Knows the form, and decides no rule of its own."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from symfonic_ray.admission import LimitError, Placement, PoolLimits, RunLimits
from symfonic_ray.config.findings import Findings, KeyPath
from symfonic_ray.config.form import ChildForm, FleetForm
from symfonic_ray.kernel.text import clipped

_KIND_WANTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys",
    "mapping_type": "a mapping of keys",
    "dataclass_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "none_required": "nothing",
}
_UNKNOWN_KEY = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_SHOWN_BYTES = 60


def report_faults(error: ValidationError, data: Any, findings: Findings) -> None:
    """Report every fault of ``error`` at the value of ``data`` where it stands."""
    wanted: dict[KeyPath, list[str]] = {}
    for fault in error.errors(include_url=False):
        path, kind = _path_in(data, fault["loc"]), fault["type"]
        if kind in _UNKNOWN_KEY:
            _report_unknown_key(path, findings)
        elif kind == "missing":
            findings.report(fault["loc"], "is missing", "add it")
        elif kind == "too_short" and _at(data, path):
            continue  # pydantic does not count items that have faults of their own
        elif kind in _KIND_WANTED:  # one value may have one fault for each kind it could have been
            wanted.setdefault(path, []).append(_KIND_WANTED[kind])
        else:
            _report_value(path, fault, findings)
    for path, kinds in wanted.items():
        given = _shown(_at(data, path))
        findings.report(path, f"is {given}", f"give {' or '.join(dict.fromkeys(kinds))}")


def _report_unknown_key(path: KeyPath, findings: Findings) -> None:
    known = _known_keys(path[:-1])
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    findings.report(path, "is not a key here", f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}")


def _report_value(path: KeyPath, fault: ErrorDetails, findings: Findings) -> None:
    context = fault.get("ctx", {})
    given = _shown(fault["input"])
    if isinstance(limit := context.get("error"), LimitError):
        field, bracket, rest = limit.field_name.partition("[")
        key = (rest.removesuffix("]").strip("'\""),) if bracket else ()
        findings.report((*path, field, *key), f"is {limit.given}", f"give {limit.allowed}")
    elif fault["type"] == "literal_error":
        findings.report(path, f"is {given}", f"give {context['expected']}")
    elif fault["type"] == "greater_than_equal":
        findings.report(path, f"is {given}", f"give {context['ge']} or more")
    elif fault["type"] == "too_short":
        findings.report(path, "is empty", f"give at least {context['min_length']}")
    elif fault["type"] == "string_pattern_mismatch":
        findings.report(path, f"is {given}", "give 1 to 64 letters, digits, '.', '_', '-', the first a letter or digit")
    else:
        findings.report(path, f"is {given}", f"correct it ({fault['msg']})")


def _known_keys(path: KeyPath) -> tuple[str, ...]:
    """The keys that the form allows in the mapping at ``path``."""
    names = tuple(part for part in path if isinstance(part, str))
    forms: Mapping[tuple[str, ...], type[Any]] = {
        (): FleetForm,
        ("children",): ChildForm,
        ("children", "placement"): Placement,
        ("limits",): PoolLimits,
        ("run_limits",): RunLimits,
    }
    form = forms[names]
    if issubclass(form, BaseModel):
        return tuple(form.model_fields)
    return tuple(field.name for field in dataclasses.fields(form))


def _path_in(data: Any, location: KeyPath) -> KeyPath:
    """The longest start of ``location`` that leads to a value; the rest are pydantic's own names for alternatives."""
    path: KeyPath = ()
    for part in location:
        held = isinstance(data, dict) and part in data
        if not held and not (isinstance(data, list) and isinstance(part, int) and part < len(data)):
            break
        data, path = data[part], (*path, part)
    return path


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _shown(value: Any) -> str:
    """``value`` in the file's words; a list or mapping by its kind alone."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return clipped(repr(value), limit_bytes=_SHOWN_BYTES)
