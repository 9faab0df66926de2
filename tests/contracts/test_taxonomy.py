"""Every failure that Ray knows has one reason of the closed set and a sentence of ours."""

from __future__ import annotations

from typing import Any

import pytest
import ray.exceptions

from symfonic_ray.cluster.faults import TABLE, classify
from symfonic_ray.delegation import REASONS

RAY: Any = ray.exceptions  # its constructors have no types

RAY_ERRORS = sorted(
    name
    for name, thing in vars(RAY).items()
    if isinstance(thing, type) and issubclass(thing, BaseException) and thing.__module__ == "ray.exceptions"
)


def test_the_table_and_ray_s_own_list_are_the_same() -> None:
    assert sorted(TABLE) == RAY_ERRORS


@pytest.mark.parametrize("name", RAY_ERRORS)
def test_a_ray_error_has_a_reason_and_words_of_ours(name: str) -> None:
    kind = getattr(RAY, name)
    fault = classify(kind.__new__(kind)) if name != "RayTaskError" else TABLE[name]
    assert fault.reason in REASONS - {""}
    assert fault.words
    assert "ray::" not in fault.words
    assert len(fault.words.splitlines()) == 1


def test_a_task_error_is_read_by_its_cause() -> None:
    wrapped = RAY.RayTaskError("run", "five lines\nof traceback", ValueError("mine"))
    fault = classify(wrapped)
    assert fault.reason == "exception"
    assert "ValueError: mine" in fault.words
    assert "traceback" not in fault.words
    died = RAY.RayTaskError("run", "text", RAY.OutOfMemoryError("text"))
    assert classify(died).reason == "out_of_memory"
    cancelled = RAY.RayTaskError("run", "text", RAY.TaskCancelledError())
    assert classify(cancelled).reason == "cancelled"


def test_an_error_that_is_not_ray_s_is_named_by_its_type() -> None:
    assert classify(OSError("no room")).words.endswith("OSError: no room")
