"""What crosses to a host: sealed, strict, and the same on both sides. No Ray here."""

from __future__ import annotations

import hmac
import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.cluster.envelope import (
    SEAL_BYTES,
    Address,
    EnvelopeError,
    HandOffRow,
    ReplyRow,
    open_batch,
    open_replies,
    pack_replies,
    seal_batch,
)
from symfonic_ray.cluster.wire_text import from_wire, to_wire, wire_bytes

KEY = b"k" * 32
ADDRESS = Address("acme", "reader", 3)
ROW = HandOffRow("c1", "task", 2, "r2", "r0", "r1", ("r0", "r1"), 1.5)


def sealed(body: Any) -> bytes:
    """A batch with a right seal around any body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return hmac.digest(KEY, data, "sha256") + data


def body(**changes: Any) -> list[Any]:
    """The JSON form of a good batch, with parts of its only row or of its header changed by name."""
    row = {"call_id": "c1", "task": "t", "depth": 2, "run": "r2", "root": "r0", "parent": "r1"}
    row |= {"ancestors": ["r0", "r1"], "seconds": 1.5, "trace": None}
    head = {"version": 1, "scope": "acme", "child": "reader", "generation": 3}
    for name, value in changes.items():
        (row if name in row else head)[name] = value
    return [*head.values(), [list(row.values())]]


def test_a_batch_arrives_as_it_was_sent() -> None:
    traced = replace(ROW, call_id="c3", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    rows = [ROW, traced, replace(ROW, call_id="c2", task="é\x00\x1b\u202e", seconds_left=None)]
    assert open_batch(seal_batch(ADDRESS, rows, key=KEY), key=KEY) == (ADDRESS, rows)


def test_replies_arrive_as_they_were_sent() -> None:
    rows = [
        ReplyRow("c1", final_response="a", usage={"tokens": 3}, delegated_to=("x", "x"), records=({"name": "x"},)),
        ReplyRow("c2", reason="exception", failure="ValueError: é", run_id="r", seconds=0.5),
    ]
    assert open_replies(pack_replies(ADDRESS, rows), address=ADDRESS) == rows


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_any_text_crosses_unchanged(text: str) -> None:
    assert from_wire(to_wire(text)) == text
    to_wire(text).encode("utf-8")
    (_, (row,)) = open_batch(seal_batch(ADDRESS, [replace(ROW, task=text)], key=KEY), key=KEY)
    assert row.task == text
    assert wire_bytes(text) == len(text.encode("utf-8", "surrogatepass"))


def test_text_that_looks_escaped_already_crosses_unchanged() -> None:
    for text in (to_wire("\ud800"), to_wire(to_wire("\ud800")), "\ufdd0escaped:{"):
        assert from_wire(to_wire(text)) == text


MALFORMED: dict[str, Any] = {
    "no JSON": b"{",
    "an object": {},
    "depth as text": body(depth="2"),
    "depth as a fraction": body(depth=2.0),
    "depth as true": body(depth=True),
    "depth missing": body(depth=None),
    "depth zero": body(depth=0),
    "depth below zero": body(depth=-1),
    "infinite seconds": b'[1,"acme","reader",3,[["c","t",1,"r","r",null,[],Infinity,null]]]',
    "a span of another form": body(trace="00-xyz"),
    "a span with more behind it": body(trace="00-" + "a" * 32 + "-" + "b" * 16 + "-01\n"),
    "a span as a number": body(trace=1),
    "seconds below zero": body(seconds=-1),
    "a blank run id": body(run=""),
    "a call id that is too long": body(call_id="c" * 65),
    "no rows": [*body()[:-1], []],
    "a field too many": [*body(), 1],
    "a column too many": [*body()[:-1], [[*body()[-1][0], 1]]],
    "another version": body(version=2),
    "generation as text": body(generation="3"),
    "scope as a number": body(scope=7),
    "more ancestors than depth": body(depth=1, ancestors=["r0", "a", "r1"]),
    "ancestors that do not end at the parent": body(ancestors=["r0", "r9"]),
    "ancestors that do not start at the root": body(ancestors=["r9", "r1"]),
    "its own ancestor": body(ancestors=["r0", "r2", "r1"], depth=3),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_batch_is_refused_and_never_repaired(data: Any) -> None:
    with pytest.raises(EnvelopeError) as caught:
        open_batch(sealed(data), key=KEY)
    assert caught.value.reason == "serialization"
    assert len(str(caught.value)) < 500


def test_the_good_form_of_these_tests_is_good() -> None:
    assert open_batch(sealed(body()), key=KEY)[0] == ADDRESS


@pytest.mark.parametrize(
    "data", [None, "text", b"", b"x" * SEAL_BYTES, 7], ids=["none", "text", "empty", "short", "int"]
)
def test_what_is_no_batch_at_all_is_refused(data: Any) -> None:
    with pytest.raises(EnvelopeError):
        open_batch(data, key=KEY)


def test_one_changed_bit_anywhere_breaks_the_seal() -> None:
    batch = seal_batch(ADDRESS, [ROW], key=KEY)
    chance = random.Random(7)
    for place in range(len(batch)):
        forged = bytearray(batch)
        forged[place] ^= 1 << chance.randrange(8)
        with pytest.raises(EnvelopeError) as caught:
            open_batch(bytes(forged), key=KEY)
        assert caught.value.reason == "scope_mismatch"


def test_a_batch_of_another_pool_is_refused() -> None:
    with pytest.raises(EnvelopeError, match="another pool"):
        open_batch(seal_batch(ADDRESS, [ROW], key=b"o" * 32), key=KEY)


def test_a_reply_of_another_address_or_generation_is_dropped() -> None:
    data = pack_replies(ADDRESS, [ReplyRow("c1", final_response="late")])
    for other in (Address("zeta", "reader", 3), Address("acme", "writer", 3), Address("acme", "reader", 4)):
        with pytest.raises(EnvelopeError) as caught:
            open_replies(data, address=other)
        assert caught.value.reason == "scope_mismatch"


@pytest.mark.parametrize("data", [None, b"", b"[]", b"{", "text"], ids=["none", "empty", "list", "cut", "text"])
def test_a_malformed_reply_is_refused(data: Any) -> None:
    with pytest.raises(EnvelopeError):
        open_replies(data, address=ADDRESS)
