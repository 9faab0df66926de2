"""What delegation raises crosses a process and reads as a sentence."""

from __future__ import annotations

import pickle

import pytest

import symfonic_ray.delegation.errors as module
from symfonic_ray.delegation import (
    ChildBuildError,
    ChildDeclarationError,
    ChildLockdownError,
    DelegationError,
    DelegationOutcome,
    DuplicateChildError,
    HandOffFacts,
    HandOffFault,
    UnknownChildError,
    UnsanitisableChildConfigError,
)

EXAMPLES: list[DelegationError] = [
    DelegationError("no"),
    ChildDeclarationError("reader", "its name is blank"),
    DuplicateChildError("reader"),
    UnknownChildError("reseacher", ("researcher", "critic")),
    ChildLockdownError("reader", "holds 'memory_block_append'", ("memory_block_append",)),
    UnsanitisableChildConfigError("reader", "its Config cannot be copied"),
    ChildBuildError("reader", "build_failed", "KeyError: 'url'"),
    HandOffFault("timeout", "took 3 s", HandOffFacts(run_id="r1", generation=2), DelegationOutcome.REFUSED_BUDGET),
]


def test_every_error_has_an_example_here() -> None:
    declared = {
        value for value in vars(module).values() if isinstance(value, type) and issubclass(value, DelegationError)
    }
    assert {type(example) for example in EXAMPLES} == declared


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_a_pickle(error: DelegationError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_bases_are_those_that_adopters_catch() -> None:
    assert issubclass(ChildDeclarationError, (ValueError,))
    assert issubclass(UnknownChildError, KeyError)
    assert issubclass(ChildLockdownError, ValueError)
    assert issubclass(UnsanitisableChildConfigError, TypeError)


def test_an_unknown_child_is_named_beside_the_known_ones() -> None:
    assert str(EXAMPLES[3]) == "no child is named 'reseacher'; this roster holds researcher, critic"


def test_an_unknown_child_of_an_empty_roster_says_so() -> None:
    assert str(UnknownChildError("x", ())).endswith("this roster holds no children")


@pytest.mark.parametrize("name", [{"a": 1}, ["a"], None, lambda: None], ids=["dict", "list", "None", "a function"])
def test_an_unknown_name_of_any_type_still_crosses_a_process(name: object) -> None:
    assert isinstance(pickle.loads(pickle.dumps(UnknownChildError(name, ("a",)))).name, str)


def test_an_unknown_name_of_any_length_gives_short_words() -> None:
    assert len(str(UnknownChildError("x" * 1_000_000, ("a",)))) < 400


@pytest.mark.parametrize("reason", ["", "other", "Timeout"])
def test_a_fault_outside_the_closed_set_is_refused(reason: str) -> None:
    with pytest.raises(ValueError, match="reason code"):
        HandOffFault(reason, "words")


def test_a_fault_cannot_claim_delivery() -> None:
    with pytest.raises(ValueError, match="DELIVERED"):
        HandOffFault("timeout", "words", HandOffFacts(), DelegationOutcome.DELIVERED)
