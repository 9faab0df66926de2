"""The ledger of trees: the bound is exact, trees do not share, and memory ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.admission import RunLimits, Spent, TreeLedger, ledger


@given(st.integers(0, 50), st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 20)), max_size=60))
def test_a_tree_is_granted_all_that_is_asked_up_to_its_limit_and_never_more(
    limit: int, asked: list[tuple[str, int]]
) -> None:
    book = TreeLedger(RunLimits(max_delegations=limit))
    granted = dict.fromkeys("abc", 0)
    wanted = dict.fromkeys("abc", 0)
    for root, count in asked:
        lease = book.lease("acme", root, count, now=0.0)
        granted[root] += lease.granted
        wanted[root] += count
        assert lease.left == limit - granted[root]
        assert lease.limit == limit
    assert granted == {root: min(limit, wanted[root]) for root in "abc"}


def test_equal_run_ids_of_two_tenants_are_two_trees() -> None:
    book = TreeLedger(RunLimits(max_delegations=1))
    assert book.lease("acme", "run", 1, now=0.0).granted == 1
    assert book.lease("beta", "run", 1, now=0.0).granted == 1
    assert book.lease("acme", "run", 1, now=0.0).granted == 0


def test_only_quiet_trees_are_forgotten_and_only_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "REMEMBERED_TREES", 1)
    book = TreeLedger(RunLimits(max_delegations=1, max_seconds=10.0))
    assert book.lease("acme", "old", 1, now=0.0).granted == 1
    assert book.lease("acme", "young", 1, now=1.0).granted == 1
    assert book.lease("acme", "old", 1, now=2.0).granted == 0
    assert book.lease("acme", "new", 1, now=200.0).granted == 1
    assert book.lease("acme", "new", 1, now=200.0).granted == 0
    assert book.lease("acme", "young", 1, now=200.0).granted == 1


@given(st.integers(0, 30), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_from_the_limit_of_tokens_on_no_hand_off_is_granted(limit: int, asked: list[tuple[int, int]]) -> None:
    book = TreeLedger(RunLimits(max_tokens=limit))
    used = granted = 0
    for wanted, tokens in asked:
        used += tokens
        lease = book.lease("acme", "run", wanted, now=0.0, tokens=tokens)
        granted += lease.granted
        assert lease.granted == (0 if used >= limit else wanted)
        assert (lease.tokens, lease.token_limit, lease.out_of_tokens) == (used, limit, used >= limit)
    assert book.spent("acme", "run") == Spent(delegations=granted, tokens=used)
    assert book.spent("beta", "run") == Spent(delegations=0, tokens=0)
