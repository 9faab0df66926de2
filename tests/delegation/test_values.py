"""The values of a hand-off."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from symfonic_ray.delegation import (
    REASONS,
    DelegationOutcome,
    DelegationRecord,
    HandOffFacts,
    HandOffReply,
    TeardownReport,
    shown,
)

CLOSED_SET = """depth unknown_child budget overload frozen exception no_final_response timeout cancelled actor_died
node_died out_of_memory controller_lost build_failed infeasible busy quarantined serialization payload_too_large
scope_mismatch lockdown shutting_down"""


def record(**more: Any) -> DelegationRecord:
    given: dict[str, Any] = {"name": "a", "outcome": DelegationOutcome.DELIVERED, "depth": 1, "message": "m"}
    return DelegationRecord(**given | more)


def test_the_reasons_are_the_closed_set_of_the_spec() -> None:
    assert frozenset({"", *CLOSED_SET.split()}) == REASONS


def test_only_delivered_is_delivered() -> None:
    assert [outcome for outcome in DelegationOutcome if outcome.delivered] == [DelegationOutcome.DELIVERED]


def test_an_outcome_is_text() -> None:
    assert f"{DelegationOutcome.REFUSED_OVERLOAD}" == "refused_overload"


def test_a_record_takes_keywords_only() -> None:
    with pytest.raises(TypeError):
        DelegationRecord("a", DelegationOutcome.DELIVERED, 1, "m")  # type: ignore[call-arg]


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        record().message = "other"  # type: ignore[misc]


def test_a_record_of_this_process_has_no_cluster_facts() -> None:
    plain = record()
    assert (plain.scope_key, plain.generation, plain.fresh, plain.queue_position) == ("", 0, False, None)


@pytest.mark.parametrize("name", ["writer", None, {"description": "writer"}, ["x" * 5000], b"w", {1, 2}], ids=type)
def test_a_record_becomes_plain_json_whatever_was_asked(name: object) -> None:
    data = record(name=name, usage={"tokens": 3}).as_dict()
    assert json.loads(json.dumps(data)) == data
    assert set(data) == {field.name for field in fields(DelegationRecord)}
    assert data["outcome"] == "delivered"
    assert len(data["name"]) < 300
    assert data["usage"] == {"tokens": 3}


def test_a_name_that_is_text_stays_as_it_is_in_plain_json() -> None:
    assert record(name="x" * 5000).as_dict()["name"] == "x" * 5000


def test_a_reply_reads_its_ids_from_the_facts() -> None:
    facts = HandOffFacts(run_id="r2", root_run_id="r0", parent_run_id="r1")
    reply = HandOffReply(final_response="text", facts=facts)
    assert (reply.run_id, reply.root_run_id, reply.parent_run_id) == ("r2", "r0", "r1")


class Sour:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000,
        ["x" * 100_000] * 100,
        Sour(),
        "two\nlines",
        type("Wide", (), {"__repr__": lambda s: "\n" * 9999})(),
    ],
)
def test_a_shown_value_is_one_short_line(value: object) -> None:
    text = shown(value)
    assert len(text) <= 210
    assert "\n" not in text


def test_a_teardown_is_clean_when_nothing_failed() -> None:
    assert TeardownReport(verb="flush", attempted=2).clean
    assert not TeardownReport(verb="flush", attempted=2, failures=("a: no",)).clean


def test_merging_adds_both_phases() -> None:
    both = TeardownReport(verb="flush", attempted=2, failures=("a",)).merge(
        TeardownReport(verb="aclose", attempted=2, failures=("b",))
    )
    assert both == TeardownReport(verb="flush+aclose", attempted=4, failures=("a", "b"))
