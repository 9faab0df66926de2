"""What counts as readable arguments: strict for text, as they are for a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from symfonic_ray.execution import UnreadableArgumentsError, read_arguments


def nested(levels: int) -> dict[str, Any]:
    """An object with ``levels`` containers, one in the other."""
    outer: dict[str, Any] = {}
    for _ in range(levels - 1):
        outer = {"a": outer}
    return outer


UNREADABLE = {
    "a repeated key": ('{"a": 1, "a": 2}', "'a' more than once"),
    "a repeated inner key": ('{"a": {"b": 1, "b": 1}}', "'b' more than once"),
    "NaN": ('{"a": NaN}', "NaN"),
    "Infinity": ('{"a": Infinity}', "Infinity"),
    "minus Infinity": ('{"a": [-Infinity]}', "-Infinity"),
    "a number that would be Infinity": ('{"a": 1e999}', "1e999"),
    "text cut short": ('{"a": "b', "not valid JSON"),
    "text after the object": ('{"a": 1} then', "not valid JSON"),
    "a bare line break in text": ('{"a": "x\ny"}', "not valid JSON"),
    "prose": ("search for cats", "not valid JSON"),
    "too many digits": ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
    "a list": ("[1]", "list"),
    "null": ("null", "NoneType"),
    "a string": ('"a"', "str"),
    "text nested over 64": ('{"a":' * 65 + "{}" + "}" * 65, "64 levels"),
    "text nested beyond the parser": ('{"a":' * 100_000, "64 levels"),
    "a list that is no text": ([1], "list"),
    "bytes": (b"{}", "bytes"),
    "a mapping nested over 64": (nested(65), "64 levels"),
    "a mapping over 64 through lists": ({"a": [[nested(62)]]}, "64 levels"),
}


@pytest.mark.parametrize(("args", "said"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_arguments_are_refused_by_what_is_wrong(args: Any, said: str) -> None:
    with pytest.raises(UnreadableArgumentsError) as caught:
        read_arguments(args)
    assert said in str(caught.value)


def test_text_of_one_object_is_read_as_json() -> None:
    assert read_arguments(' {"a": [1, 2.5, null, "\\u00e9"], "b": {}} ') == {"a": [1, 2.5, None, "é"], "b": {}}


@pytest.mark.parametrize("args", [None, "", " \n", {}, "{}"], ids=repr)
def test_a_call_with_no_arguments_is_read_as_none_of_them(args: Any) -> None:
    assert read_arguments(args) == {}


@pytest.mark.parametrize(
    "args", [{"x": float("nan"), "s": {1}}, MappingProxyType({"a": object})], ids=["a dict", "a proxy"]
)
def test_a_mapping_is_taken_as_it_is(args: Mapping[str, Any]) -> None:
    assert read_arguments(args) is args


def test_exactly_64_levels_are_readable() -> None:
    assert read_arguments(nested(64)) == nested(64)


def test_a_mapping_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = [loop]
    with pytest.raises(UnreadableArgumentsError, match="64 levels"):
        read_arguments(loop)


def test_a_mapping_of_shared_parts_is_measured_without_visiting_each_path() -> None:
    shared: list[Any] = []
    for _ in range(60):
        shared = [shared, shared]
    assert read_arguments({"a": shared})["a"] is shared  # 2**60 paths
