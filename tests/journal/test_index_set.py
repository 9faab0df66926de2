"""A set of numbers in bits behaves as a set of numbers."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.journal import IndexSet

INDEXES = st.integers(0, 2**63 - 1) | st.integers(0, 10_000)


@given(st.lists(st.tuples(st.booleans(), INDEXES)))
def test_it_holds_what_was_added_and_not_discarded_since(steps: list[tuple[bool, int]]) -> None:
    bits, plain = IndexSet(), set[int]()
    for add, index in steps:
        (bits.add if add else bits.discard)(index)
        (plain.add if add else plain.discard)(index)
        assert (index in bits) is add
    assert list(bits) == sorted(plain)
    assert len(bits) == len(plain)
    assert bits == IndexSet(plain)


@given(st.sets(INDEXES), st.sets(INDEXES))
def test_it_joins_in_set_arithmetic(one: set[int], other: set[int]) -> None:
    assert IndexSet(one) | IndexSet(other) == one | other
    assert IndexSet(one) - other == one - other
    assert (IndexSet(one) <= IndexSet(other)) is (one <= other)


@pytest.mark.parametrize("stranger", [-1, "0", 0.5, None], ids=repr)
def test_what_is_no_index_is_not_in_it(stranger: object) -> None:
    assert stranger not in IndexSet(range(10))


def test_a_number_below_zero_cannot_be_added() -> None:
    with pytest.raises(ValueError, match="-1"):
        IndexSet([-1])


def test_a_copy_does_not_follow_the_original() -> None:
    first = IndexSet([1, 5000])
    second = first.copy()
    first.add(2)
    first.discard(5000)
    assert list(second) == [1, 5000]


def test_a_million_numbers_in_a_row_take_less_than_a_quarter_of_a_megabyte() -> None:
    chunks = IndexSet(range(1_000_000))._chunks  # white box: memory is the claim
    assert sys.getsizeof(chunks) + sum(map(sys.getsizeof, chunks.values())) < 250_000


def test_numbers_that_were_all_discarded_take_no_room() -> None:
    bits = IndexSet(range(0, 10**9, 10**6))
    for index in list(bits):
        bits.discard(index)
    assert not bits._chunks


def test_a_repr_counts_and_does_not_list() -> None:
    assert repr(IndexSet(range(1000))) == "<IndexSet of 1000>"
