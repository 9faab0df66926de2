"""What a child's response says, whatever its form."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import HandOffFacts, HandOffFault, HandOffReply, read_answer
from tests.delegation.palettes import Mirage


class Model:
    """A pydantic model as far as it is read: ``model_dump(mode="json")``."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return dict(vars(self))


@dataclasses.dataclass
class Point:
    x: int
    where: Any = "öl"


TEXTS: dict[str, tuple[object, str]] = {
    "a string": ("42", "42"),
    "a padded string": (" 42 \n", "42"),
    "a mapping": ({"final_response": "42"}, "42"),
    "a read-only mapping": (MappingProxyType({"final_response": "42"}), "42"),
    "an object": (SimpleNamespace(final_response="42"), "42"),
    "a model": (Model(final_response="42"), "42"),
    "zero as text": ("0", "0"),
    "zero": ({"final_response": 0}, "0"),
    "false": ({"final_response": False}, "false"),
    "a list": ({"final_response": ["ö", 1]}, '["ö", 1]'),
    "a mapping inside": ({"final_response": OrderedDict(a=None)}, '{"a": null}'),
    "a model inside": ({"final_response": Model(a=Model(b=1))}, '{"a": {"b": 1}}'),
    "a dataclass inside": ({"final_response": Point(1)}, '{"x": 1, "where": "öl"}'),
    "a dataclass in a list": ({"final_response": [Point(1, Point(2))]}, '[{"x": 1, "where": {"x": 2, "where": "öl"}}]'),
    "nothing": (None, ""),
    "a number as the response": (5, ""),
    "blank": (" \n", ""),
    "blank inside": ({"final_response": "\t"}, ""),
    "None inside": ({"final_response": None}, ""),
    "no such key": ({"answer": "42"}, ""),
    "no such attribute": (object(), ""),
}


@pytest.mark.parametrize(("response", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_the_text_of_a_response_is_read_from_any_form(response: object, text: str) -> None:
    assert read_answer(response).text == text


def circular() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


class SourModel(Model):
    def model_dump(self, *, mode: str) -> dict[str, Any]:
        raise RuntimeError("no")


TEXTLESS = {
    "an object": object(),
    "bytes": b"42",
    "not a number": float("nan"),
    "infinity inside": [float("inf")],
    "a circle": circular(),
    "a set": {1},
    "keys that are no text": {(1, 2): 3},
    "a model that raises": SourModel(),
    "a mirage": Mirage(),
}


@pytest.mark.parametrize("value", TEXTLESS.values(), ids=TEXTLESS.keys())
def test_a_final_response_without_json_text_is_a_serialization_fault_with_the_ids(value: object) -> None:
    with pytest.raises(HandOffFault) as caught:
        read_answer({"final_response": value, "run_id": "r2", "root_run_id": "r0", "parent_run_id": "r1"})
    assert caught.value.reason == "serialization"
    assert type(value).__name__ in caught.value.message
    assert caught.value.facts == HandOffFacts(run_id="r2", root_run_id="r0", parent_run_id="r1")


class Sour:
    @property
    def final_response(self) -> str:
        raise RuntimeError("not today")

    run_id = "r2"
    usage = error = delegated_to = final_response


def test_an_attribute_that_raises_reads_as_absent() -> None:
    answer = read_answer(Sour())
    assert (answer.text, answer.usage, answer.error, answer.delegated_to) == ("", None, "", ())
    assert answer.run_id == "r2"


def test_a_response_that_answers_every_attribute_is_read_without_a_crash() -> None:
    with pytest.raises(HandOffFault, match="serialization"):
        read_answer(Mirage())


@pytest.mark.parametrize(("given", "read"), [("r2", "r2"), (None, ""), (5, ""), (Mirage(), "")], ids=repr)
def test_only_text_is_a_run_id(given: object, read: str) -> None:
    answer = read_answer({"final_response": "x", "run_id": given, "root_run_id": given, "parent_run_id": given})
    assert (answer.run_id, answer.root_run_id, answer.parent_run_id) == (read, read, read or None)


USAGES: dict[str, tuple[object, object]] = {
    "a mapping": (MappingProxyType({"tokens": 3}), {"tokens": 3}),
    "a model": (Model(tokens=3), {"tokens": 3}),
    "a dataclass": (Point(3), {"x": 3, "where": "öl"}),
    "a number": (3, None),
    "a list": ([3], None),
    "data that is not plain": ({"client": object()}, None),
    "not a number inside": ({"cost": float("nan")}, None),
    "a mirage": (Mirage(), None),
    "nothing": (None, None),
}


@pytest.mark.parametrize(("given", "read"), USAGES.values(), ids=USAGES.keys())
def test_usage_is_plain_json_data_or_nothing(given: object, read: object) -> None:
    assert read_answer({"final_response": "x", "usage": given}).usage == read


def test_usage_is_a_copy() -> None:
    mine = {"tokens": [1]}
    usage = read_answer({"final_response": "x", "usage": mine}).usage
    mine["tokens"].append(2)
    assert usage == {"tokens": [1]}


class SourText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


ERRORS: dict[str, tuple[object, str]] = {
    "words": ("out\nof luck", "out of luck"),
    "an exception": (ValueError("no luck"), "ValueError: no luck"),
    "an exception that cannot be printed": (SourText(), "SourText: (its text cannot be printed)"),
    "nothing": (None, ""),
    "other data": ({"code": 5}, "{'code': 5}"),
}


@pytest.mark.parametrize(("given", "line"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_one_line(given: object, line: str) -> None:
    assert read_answer({"error": given}).error == line


def test_an_endless_error_is_cut() -> None:
    assert len(read_answer({"error": "ö" * 1_000_000}).error.encode()) <= 4096


@pytest.mark.parametrize(
    ("given", "read"), [(["a", 3, "b"], ("a", "b")), (("a",), ("a",)), ("abc", ()), (None, ())], ids=repr
)
def test_what_the_child_delegated_to_is_a_tuple_of_names(given: object, read: tuple[str, ...]) -> None:
    assert read_answer({"final_response": "x", "delegated_to": given}).delegated_to == read


def test_a_reply_from_the_border_is_read_whole() -> None:
    facts = HandOffFacts(run_id="r2", root_run_id="r0", parent_run_id="r1", generation=4)
    answer = read_answer(
        HandOffReply(final_response=" 42 ", facts=facts, usage={"tokens": 3}, delegated_to=("b",), error="warned")
    )
    assert (answer.text, answer.error, answer.usage, answer.delegated_to) == ("42", "warned", {"tokens": 3}, ("b",))
    assert (answer.run_id, answer.root_run_id, answer.parent_run_id) == ("r2", "r0", "r1")
