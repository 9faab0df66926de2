"""Whether a skill lets its action tool be called yet. Judges by the skills and the run's state; keeps neither.

A skill's precondition is a predicate or it is advice. A predicate that is malformed or cannot be evaluated blocks;
free text gates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symfonic_ray.execution.messages import calls_of, is_failed, is_tool_result, read
from symfonic_ray.execution.settling import settled
from symfonic_ray.execution.values import PreconditionVerdict, ToolCall
from symfonic_ray.kernel.text import failure_line

_TOOL_FORM = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)(\(.*\))?", re.DOTALL)
_MISSING = object()


class MalformedPredicateError(ValueError):
    """A skill's precondition that is neither a predicate nor advice."""

    def __init__(self, shown: str, problem: str) -> None:
        super().__init__(shown, problem)
        self.shown, self.problem = shown, problem

    def __str__(self) -> str:
        return f"the precondition {self.shown} {self.problem}; give a tool name or {{'state': {{path, op, value}}}}"


@dataclass(frozen=True, slots=True)
class _ToolCalled:
    tool: str

    def unmet(self, state: Any) -> str:
        return "" if self.tool in called_tools(state) else f"call {self.tool} first"


@dataclass(frozen=True, slots=True)
class _StateHolds:
    path: str
    op: str
    value: Any

    def unmet(self, state: Any) -> str:
        found = _at(state, self.path)
        if found is not _MISSING and _OPERATORS[self.op](found, self.value):
            return ""
        expected = "" if self.op == "exists" else f" {self.value!r}"
        return f"the state must hold {self.path} {self.op}{expected}"


class SkillPrecondition:
    """Blocks a skill's action tool while the skill's precondition does not hold."""

    name = "skill"

    def __init__(self, skills: Callable[[], Awaitable[Iterable[Any]]], state: Callable[[], Any]) -> None:
        """Hold the two sources.

        Args:
            skills: awaited for each call; each skill has a ``metadata`` mapping. What it raises means that the store
                cannot be reached, and the call goes on undecided.
            state: read at judgement, and only where a predicate needs it. Any: a mapping or an object with
                ``messages``.
        """
        self._skills = skills
        self._state = state

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        """Object where a predicate of a skill that governs ``call`` does not hold."""
        try:
            skills = await settled(self._skills())
        except Exception as error:
            return PreconditionVerdict.unavailable(reason=f"the skills could not be read: {failure_line(error)}")
        governing = [metadata for metadata in map(_metadata, skills) if _action_tool(metadata) == call.name]
        try:
            predicates = [one for metadata in governing for one in _predicates(metadata.get("precondition"))]
            state = await settled(self._state()) if predicates else None
            unmet = [words for words in (one.unmet(state) for one in predicates) if words]
        except Exception as error:
            return PreconditionVerdict.block(
                content=f"{call.name} was not run: whether its skill allows it could not be told",
                reason=failure_line(error),
            )
        if not unmet:
            return None
        words = "; ".join(unmet)
        return PreconditionVerdict.block(content=f"{call.name} was not run: {words}", reason=words)


def called_tools(state: Any) -> frozenset[str]:
    """The names of the tools that were called with success, by the tool messages of ``state``.

    Any: a mapping or an object with ``messages``. A result counts for the tool it names, and for the tool whose call
    it answers; a call id that is blank, or that one message gave to two tools, tells nothing.
    """
    called: set[str] = set()
    asked: dict[str, str] = {}
    for message in read(state, "messages") or ():
        by_id: dict[str, set[str]] = {}
        for call in calls_of(message):
            by_id.setdefault(call.id, set()).add(call.name)
        asked.update({call_id: names.pop() if len(names) == 1 else "" for call_id, names in by_id.items() if call_id})
        if is_tool_result(message) and not is_failed(message):
            answered, named = read(message, "tool_call_id"), read(message, "name")
            called.update(name for name in (named, asked.get(answered) if isinstance(answered, str) else None) if name)
    return frozenset(called)


def _metadata(skill: Any) -> Mapping[str, Any]:
    metadata = read(skill, "metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _action_tool(metadata: Mapping[str, Any]) -> str | None:
    steps = metadata.get("steps")
    first = steps[0] if isinstance(steps, list | tuple) and steps else None
    return _tool_name(metadata.get("action_tool") or first)


def _tool_name(text: Any) -> str | None:
    form = _TOOL_FORM.fullmatch(text.strip()) if isinstance(text, str) else None
    return None if form is None else form[1]


def _predicates(precondition: Any) -> Iterator[_ToolCalled | _StateHolds]:
    if precondition is None:
        return
    for part in precondition if isinstance(precondition, list | tuple) else (precondition,):
        if isinstance(part, Mapping):
            yield from _from_mapping(part)
        elif isinstance(part, str):
            tool = _tool_name(part)
            if tool is not None:  # any other text is advice
                yield _ToolCalled(tool)
        else:
            raise MalformedPredicateError(repr(part)[:200], "is neither text nor a mapping")


def _from_mapping(part: Mapping[str, Any]) -> Iterator[_ToolCalled | _StateHolds]:
    if "tool" not in part and "state" not in part:
        raise MalformedPredicateError(repr(part)[:200], "has neither 'tool' nor 'state'")
    if "tool" in part:
        tool = _tool_name(part["tool"])
        if tool is None:
            raise MalformedPredicateError(repr(part)[:200], "names no tool")
        yield _ToolCalled(tool)
    if "state" in part:
        yield _state_rule(part["state"])


def _state_rule(rule: Any) -> _StateHolds:
    shown = repr(rule)[:200]
    if not isinstance(rule, Mapping):
        raise MalformedPredicateError(shown, "is not a mapping")
    path, op, value = rule.get("path"), rule.get("op"), rule.get("value", _MISSING)
    if not isinstance(path, str) or not all(path.split(".")):
        raise MalformedPredicateError(shown, "has no dotted path")
    if not isinstance(op, str) or op not in _OPERATORS:
        raise MalformedPredicateError(shown, f"has no operator of {', '.join(_OPERATORS)}")
    if op != "exists" and value is _MISSING:
        raise MalformedPredicateError(shown, "has no value")
    if op == "in" and not isinstance(value, list | tuple | set | frozenset):
        raise MalformedPredicateError(shown, "has no list of values for 'in'")
    return _StateHolds(path, op, value)


def _at(state: Any, path: str) -> Any:
    found = state
    for part in path.split("."):
        found = found.get(part, _MISSING) if isinstance(found, Mapping) else getattr(found, part, _MISSING)
        if found is _MISSING:
            return _MISSING
    return found


def _equal(found: Any, value: Any) -> bool:
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)  # True is not 1 here


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "neq": lambda found, value: not _equal(found, value),
    "in": lambda found, value: any(_equal(found, one) for one in value),
    "exists": lambda found, value: True,
}
