"""A scope's key is one-to-one, and what names no tenant has none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.kernel import ScopeError, scope_from_key, scope_hash, scope_key

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.floats(-9, 9), st.text("aB/_ é", max_size=4))
STRUCTURES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


def typed(value: Any) -> Any:
    """A value that is equal only to one of the same types all the way down."""
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(typed(item) for item in value)
    if isinstance(value, dict):
        return "dict", tuple(sorted((key, typed(item)) for key, item in value.items()))
    return type(value).__name__, repr(value)


def key_or_none(scope: Any) -> str | None:
    try:
        return scope_key(scope)
    except ScopeError:
        return None


@given(STRUCTURES, STRUCTURES)
def test_two_scopes_share_a_key_only_when_they_are_the_same_in_value_and_type(one: Any, other: Any) -> None:
    first, second = key_or_none(one), key_or_none(other)
    if first is not None and second is not None:
        assert (first == second) == (typed(one) == typed(other))


@given(STRUCTURES)
def test_a_key_leads_back_to_its_scope(scope: Any) -> None:
    key = key_or_none(scope)
    if key is not None:
        assert typed(scope_from_key(key)) == typed(scope)
        assert len(key) <= 128


@pytest.mark.parametrize("name", ["acme", "acme/a", "ACME/A", "../etc", "json:x", "연구소", "a b"])
def test_a_name_leads_back_to_itself(name: str) -> None:
    assert scope_from_key(scope_key(name)) == name


def test_look_alikes_have_keys_of_their_own() -> None:
    scopes: list[Any] = [
        "acme/a",
        "acme_a",
        "ACME/A",
        ("acme", "a"),
        ["acme", "a"],
        'json:["t","acme","a"]',
        1,
        True,
        "1",
    ]
    assert len({scope_key(scope) for scope in scopes}) == len(scopes)


BAD = {
    "none": None,
    "empty": "",
    "blank": " \t",
    "star": "*",
    "dot": ".",
    "two dots": "..",
    "control": "a\x00b",
    "newline": "a\nb",
    "zero width": "a\u200bb",
    "bidi": "a\u202eb",
    "filler": "a\u3164b",
    "line separator": "a\u2028b",
    "surrogate": "a\ud800b",
    "too long": "x" * 129,
    "too long a structure": ["x" * 60, "y" * 70],
    "nan": float("nan"),
    "infinity inside": [float("inf")],
    "object": object(),
    "bytes": b"acme",
    "set": {"acme"},
    "a subclass of str": type("Name", (str,), {})("acme"),
    "a number as key": {1: "a"},
    "empty list": [],
    "empty mapping": {},
    "deep": [[[[[[[[[["a"]]]]]]]]]],
    "invisible inside": {"tenant": "a\u200b"},
}


@pytest.mark.parametrize("scope", BAD.values(), ids=BAD.keys())
def test_what_names_no_tenant_is_refused_in_words(scope: Any) -> None:
    with pytest.raises(ScopeError) as caught:
        scope_key(scope)
    words = str(caught.value)
    assert len(words.splitlines()) == 1
    assert len(words) < 400
    assert "tenant" in words


def test_an_invisible_character_is_named() -> None:
    with pytest.raises(ScopeError, match="200B"):
        scope_key("a\u200bb")


def test_a_hash_shows_nothing_of_the_name() -> None:
    assert len(scope_hash("acme")) == 16
    assert scope_hash("acme") != scope_hash("ACME")
    assert "acme" not in scope_hash("acme")
