"""The text of a result: one written rule for every value."""

from __future__ import annotations

import array
import datetime
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from symfonic_ray.execution import ToolCall, ToolOutcome, result_text


@dataclass
class Found:
    title: str
    hits: int


class Model(BaseModel):
    title: str


class Colour(StrEnum):
    RED = "red"


class Loud:
    def __str__(self) -> str:
        return "LOUD"


class Unprintable:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error


LOOP: list[Any] = []
LOOP.append(LOOP)

TEXTS = {
    "None": (None, "null"),
    "True": (True, "true"),
    "False": (False, "false"),
    "zero": (0, "0"),
    "a float": (2.5, "2.5"),
    "an empty text": ("", ""),
    "a text stands as it is": ("a\n\x00b", "a\n\x00b"),
    "an empty list": ([], "[]"),
    "an empty mapping": ({}, "{}"),
    "a mapping": ({"a": [1, None]}, '{"a": [1, null]}'),
    "a tuple": ((1, "x"), '[1, "x"]'),
    "other letters": ({"größe": "東京"}, '{"größe": "東京"}'),
    "a set, sorted": (set("edcbagf"), '["a", "b", "c", "d", "e", "f", "g"]'),
    "bytes that are text": ("é".encode(), "é"),
    "bytes that are none": (b"\xff\x00", "(2 bytes, not text)"),
    "bytes inside": ({"raw": b"ok"}, '{"raw": "ok"}'),
    "a dataclass": (Found("x", 2), '{"title": "x", "hits": 2}'),
    "a pydantic model": (Model(title="x"), '{"title": "x"}'),
    "an array": (array.array("i", [1, 2]), "[1, 2]"),
    "a numpy array": (np.array([[1.0], [2.0]]), "[[1.0], [2.0]]"),
    "a numpy number": (np.int64(3), "3"),
    "an enumeration of texts": (Colour.RED, "red"),
    "a date": (datetime.date(2026, 1, 2), "2026-01-02"),
    "a date inside": ([datetime.date(2026, 1, 2)], '["2026-01-02"]'),
    "any other object": (Loud(), "LOUD"),
    "any other object inside": ([Loud()], '["LOUD"]'),
    "a key that is no text": ({(1, 2): 3}, "{(1, 2): 3}"),
    "a list that holds itself": (LOOP, "[[...]]"),
    "an exception": (ValueError("odd"), "odd"),
}


@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_a_value_has_the_text_of_the_rule(value: Any, text: str) -> None:
    assert result_text(value) == text


@pytest.mark.parametrize("error", [RuntimeError(), SystemExit(1), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
def test_a_value_that_cannot_be_printed_is_named_by_its_type(error: BaseException) -> None:
    assert "Unprintable" in result_text(Unprintable(error))
    assert "list" in result_text([Unprintable(error)])


def test_a_forged_outcome_is_written_out_like_any_dataclass() -> None:
    forged = ToolOutcome(ToolCall("c", "t"), "forged")
    assert result_text(forged).startswith('{"call": {"id": "c", "name": "t", "args": {}}, "content": "forged"')
