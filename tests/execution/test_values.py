"""The values: their order, their defaults, and that they are fixed and cross a process."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest

from symfonic_ray.execution import (
    AdmittedCall,
    BindingResult,
    DuplicateToolError,
    ExecutionReport,
    MalformedPredicateError,
    MispairedOutcomesError,
    NotRunnableError,
    PhaseRecord,
    PreconditionVerdict,
    SteeringResult,
    TerminationVerdict,
    ToolCall,
    ToolDescriptor,
    ToolOutcome,
    ToolProgress,
    UnnamedToolError,
    UnreadableArgumentsError,
    WorkerDiedError,
)

CALL = ToolCall("c1", "echo", {"value": 1})

POSITIONAL = [
    (ToolCall("i", "n", {"a": 1}), {"id": "i", "name": "n", "args": {"a": 1}}),
    (
        ToolOutcome(CALL, "text", True, 2, "steering", "steered", 7),
        {
            "call": CALL,
            "content": "text",
            "is_error": True,
            "attempts": 2,
            "phase": "steering",
            "reason": "steered",
            "value": 7,
        },
    ),
    (ExecutionReport((), ()), {"outcomes": (), "trace": ()}),
    (
        PhaseRecord("p", "c", "a", "d", 3),
        {"phase": "p", "call_id": "c", "action": "a", "detail": "d", "slot": 3},
    ),
    (
        PreconditionVerdict(True, "c", "r", False, True),
        {"admitted": True, "content": "c", "reason": "r", "is_error": False, "undetermined": True},
    ),
    (
        SteeringResult("c", "t", "x", False, "o"),
        {"call_id": "c", "tool_name": "t", "content": "x", "is_error": False, "origin": "o"},
    ),
    (
        ToolProgress("c", "t", 4, "p", 2),
        {"call_id": "c", "tool_name": "t", "sequence": 4, "payload": "p", "slot": 2},
    ),
    (TerminationVerdict(True, "r", "d"), {"terminate": True, "reason": "r", "detail": "d"}),
    (
        BindingResult("m", True, "r", "f", True, ("n",)),
        {"model": "m", "bound": True, "reason": "r", "forced_choice": "f", "degraded": True, "notes": ("n",)},
    ),
    (AdmittedCall(1, CALL, "t"), {"slot": 1, "call": CALL, "tool": "t"}),
]
VALUES = [value for value, _ in POSITIONAL]


def kind(value: Any) -> str:
    return type(value).__name__ if dataclasses.is_dataclass(value) or isinstance(value, Exception) else ""


@pytest.mark.parametrize(("value", "fields"), POSITIONAL, ids=kind)
def test_a_value_takes_its_fields_in_the_order_of_the_page(value: Any, fields: dict[str, Any]) -> None:
    assert {field.name: getattr(value, field.name) for field in dataclasses.fields(value)} == fields


@pytest.mark.parametrize("value", VALUES, ids=kind)
def test_a_value_cannot_be_changed(value: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, "other")


@pytest.mark.parametrize("value", VALUES, ids=kind)
def test_a_value_has_no_room_for_other_fields(value: Any) -> None:
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", VALUES, ids=kind)
def test_a_value_crosses_a_process(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


def test_what_is_left_out_has_the_defaults_of_the_page() -> None:
    assert ToolCall("c", "t").args == {}
    assert ToolOutcome(CALL, "x") == ToolOutcome(CALL, "x", False, 0, "dispatch", "", None)
    assert ExecutionReport() == ExecutionReport((), ())
    assert PhaseRecord("p", "c", "a") == PhaseRecord("p", "c", "a", "", 0)
    assert PreconditionVerdict(False, "c", "r") == PreconditionVerdict(False, "c", "r", True, False)
    assert SteeringResult("c", "t", "x") == SteeringResult("c", "t", "x", True, "steering")
    assert ToolProgress("c", "t", 0) == ToolProgress("c", "t", 0, None, 0)
    assert TerminationVerdict(False, "r") == TerminationVerdict(False, "r", "")
    assert BindingResult("m", False, "r") == BindingResult("m", False, "r", None, False, ())
    descriptor = ToolDescriptor("t")
    assert (descriptor.requires, descriptor.max_calls_per_invocation, descriptor.idempotent) == (None, None, False)


def test_two_calls_do_not_share_their_default_arguments() -> None:
    assert ToolCall("a", "t").args is not ToolCall("b", "t").args


def test_a_block_is_an_error_that_objects() -> None:
    assert PreconditionVerdict.block(content="no", reason="rule") == PreconditionVerdict(False, "no", "rule")


def test_an_unavailable_check_admits_without_having_decided() -> None:
    assert PreconditionVerdict.unavailable(reason="down") == PreconditionVerdict(True, "", "down", True, True)


ERRORS: list[tuple[Exception, tuple[str, ...]]] = [
    (DuplicateToolError("search"), ("search",)),
    (MalformedPredicateError("{'x': 1}", "names no tool"), ("{'x': 1}", "names no tool")),
    (MispairedOutcomesError(3, 2), ("3", "2")),
    (NotRunnableError("int"), ("int", "callable")),
    (UnnamedToolError("partial"), ("partial", "name")),
    (UnreadableArgumentsError("are torn"), ("are torn", "JSON object")),
    (WorkerDiedError("crawl"), ("crawl", "not known")),
]


@pytest.mark.parametrize(("error", "facts"), ERRORS, ids=kind)
def test_an_error_says_its_facts_and_crosses_a_process(error: Exception, facts: tuple[str, ...]) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), arrived.args, vars(arrived)) == (type(error), error.args, vars(error))
    assert all(fact in str(arrived) for fact in facts)


def test_the_room_imports_neither_ray_nor_pydantic_nor_numpy() -> None:
    program = (
        "import sys, symfonic_ray.execution;"
        "print([m for m in ('ray', 'pydantic', 'numpy', 'docstring_parser') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
