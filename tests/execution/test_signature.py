"""The repeat key: equal for equal calls, in every process, whatever the arguments are."""

from __future__ import annotations

import array
import datetime
import decimal
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.execution import ToolCall


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Plain:
    pass


class Hostile:
    """Raises from whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("leave me alone")


def key(args: Any, name: str = "t", call_id: str = "c") -> str:
    return ToolCall(call_id, name, args).signature


def test_the_key_holds_the_name_and_the_arguments_and_not_the_id() -> None:
    assert key({"a": 1}, call_id="one") == key({"a": 1}, call_id="two")
    assert key({"a": 1}, "one") != key({"a": 1}, "two")
    assert key({"a": 1}) != key({"a": 2})


def test_nested_keys_are_sorted_and_lists_keep_their_order() -> None:
    assert key({"a": {"x": 1, "y": [1, 2]}, "b": 0}) == key({"b": 0, "a": {"y": [1, 2], "x": 1}})
    assert key({"a": [1, 2]}) != key({"a": [2, 1]})


ALIKE_BUT_NOT_EQUAL = [1, "1", True, 1.0, None, "None", "null", [1], {"1": 1}, {1: 1}, b"1", {1}]


def test_values_that_only_look_alike_have_keys_of_their_own() -> None:
    assert len({key({"a": value}) for value in ALIKE_BUT_NOT_EQUAL}) == len(ALIKE_BUT_NOT_EQUAL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"\x00", b"\x01"),
        (array.array("d", [1.0]), array.array("d", [2.0])),
        (array.array("i", [1]), array.array("f", [1.0])),
        (Point(1, 2), Point(2, 1)),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
        ({"a", "b"}, {"a", "c"}),
        (len, max),
        (10**5000, 10**5000 + 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_beyond_json_are_told_apart_by_what_they_hold(one: Any, other: Any) -> None:
    assert key({"a": one}) != key({"a": other})


def test_two_equal_objects_have_one_key_and_no_address_in_it() -> None:
    assert key({"a": Plain(), "b": Point(1, 2)}) == key({"a": Plain(), "b": Point(1, 2)})
    boxes = [np.array([Plain(), Plain()], dtype=object) for _ in range(2)]
    assert key({"a": boxes[0]}) == key({"a": boxes[1]})
    assert "0x" not in key({"a": Plain(), "b": lambda: None, "c": object()})


@pytest.mark.parametrize(
    "make",
    [Hostile, lambda: math.nan, lambda: -math.inf, lambda: {Hostile: 1}, lambda: Plain, lambda: "\ud800"],
    ids=["hostile", "nan", "inf", "a class as key", "a class", "a lone surrogate"],
)
def test_no_value_makes_the_key_raise(make: Callable[[], Any]) -> None:
    assert key({"a": make()}).startswith("t {")


def test_a_value_that_holds_itself_has_a_key() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    assert "..." in key(loop)


def test_argument_text_has_the_key_of_the_mapping_it_stands_for() -> None:
    assert key('{"b": [1], "a": 2}') == key({"a": 2, "b": [1]})
    assert key("") == key(None) == key({})


def test_unreadable_text_is_its_own_key() -> None:
    assert key('{"a": ') == key('{"a": ')
    assert len({key('{"a": '), key('{"b": '), key({}), key([1])}) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def typed(value: Any) -> Any:
    """``value`` in a form whose equality tells types apart, and -0.0 from 0.0."""
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value).__name__, repr(value))


@given(st.dictionaries(st.text(), JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_two_json_objects_share_a_key_exactly_when_they_are_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (key(one) == key(other)) is (typed(one) == typed(other))


PROGRAM = """
import array
from symfonic_ray.execution import ToolCall
class Thing: pass
args = {"s": {"alpha", "beta", "gamma", 1, 2.5, None}, "f": frozenset({"x", "y"}), "b": b"\\x00", "n": float("nan"),
        "a": array.array("d", [1.0]), "o": Thing(), "l": lambda: 0, "deep": [{"t": {("p", 1), ("q", 2)}}]}
print(ToolCall("c", "t", args).signature)
"""


def test_the_key_is_the_same_in_every_process() -> None:
    def printed(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True, env=environment
        )
        return ran.stdout

    assert printed("1") == printed("2") != ""
