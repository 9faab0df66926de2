"""Single calls: what each returns, what it refuses, and what it keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.admission import Admitted, FairQueue, LimitError, Queued, Refused


def small(*, max_in_flight: int = 1, max_in_flight_per_scope: int = 1, max_queued_per_scope: int = 3) -> FairQueue[str]:
    return FairQueue(
        max_in_flight=max_in_flight,
        max_in_flight_per_scope=max_in_flight_per_scope,
        max_queued_per_scope=max_queued_per_scope,
    )


def refused(queue: FairQueue[str], scope: str = "a") -> Refused:
    """The refusal of a scope, after its queue was filled up."""
    for number in range(100):
        answer = queue.ask(scope, f"filler {number}")
        if isinstance(answer, Refused):
            return answer
    raise AssertionError("the queue has no end")


def test_a_hand_off_with_a_slot_free_is_admitted_at_once() -> None:
    queue = small()
    assert queue.ask("a", "x") == Admitted()
    assert (queue.in_flight, queue.queued, queue.in_flight_of("a")) == (1, 0, 1)


def test_a_hand_off_without_a_slot_waits_and_is_told_its_place() -> None:
    queue = small()
    queue.ask("a", "x")
    assert queue.ask("a", "y") == Queued(1)
    assert queue.ask("a", "z") == Queued(2)
    assert queue.ask("b", "v") == Queued(1)
    assert (queue.queued, queue.queued_of("a"), queue.queued_of("b")) == (3, 2, 1)


def test_places_move_up_as_tickets_ahead_start_or_are_withdrawn() -> None:
    queue = small(max_queued_per_scope=10)
    for ticket in "xabcdef":
        queue.ask("a", ticket)
    assert queue.done("a", now=0.0) == ("a",)
    assert queue.withdraw("a", "c")
    assert [queue.position("a", ticket) for ticket in "xabcdef"] == [None, None, 1, None, 2, 3, 4]


def test_places_stay_true_when_most_of_the_queue_is_withdrawn() -> None:
    queue: FairQueue[int] = FairQueue(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=1000)
    for number in range(901):
        queue.ask("a", number)
    for number in range(1, 901):
        if number % 9:
            assert queue.withdraw("a", number)
    assert [queue.position("a", number) for number in range(9, 901, 9)] == list(range(1, 101))
    assert queue.ask("a", 1000) == Queued(101)
    assert queue.position("a", 1000) == 101


@given(st.permutations(range(30)), st.integers(0, 29))
def test_places_stay_true_in_whatever_order_tickets_are_withdrawn(order: list[int], withdrawn: int) -> None:
    queue: FairQueue[int] = FairQueue(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=30)
    waiting = list(range(30))
    queue.ask("a", -1)
    for ticket in waiting:
        queue.ask("a", ticket)
    for ticket in order[:withdrawn]:
        queue.withdraw("a", ticket)
        waiting.remove(ticket)
        assert [queue.position("a", left) for left in waiting] == list(range(1, len(waiting) + 1))
    assert queue.done("a", now=0.0) == (waiting.pop(0),)
    assert [queue.position("a", left) for left in waiting] == list(range(1, len(waiting) + 1))


def test_a_withdrawn_ticket_never_starts() -> None:
    queue = small()
    for ticket in ("x", "y", "z"):
        queue.ask("a", ticket)
    assert queue.withdraw("a", "y")
    assert queue.done("a", now=0.0) == ("z",)
    assert queue.done("a", now=0.0) == ()


@pytest.mark.parametrize(
    ("scope", "ticket"),
    [("a", "x"), ("a", "never asked"), ("b", "y"), ("nobody", "y")],
    ids=["admitted already", "never asked", "of another scope", "of an unknown scope"],
)
def test_withdrawing_what_does_not_wait_is_false_and_changes_nothing(scope: str, ticket: str) -> None:
    queue = small()
    queue.ask("a", "x")
    queue.ask("a", "y")
    queue.ask("b", "z")
    assert queue.withdraw(scope, ticket) is False
    assert (queue.in_flight, queue.queued) == (1, 2)


def test_a_withdrawn_ticket_may_ask_again_and_goes_to_the_end() -> None:
    queue = small()
    for ticket in ("x", "y", "z"):
        queue.ask("a", ticket)
    queue.withdraw("a", "y")
    assert queue.ask("a", "y") == Queued(2)


def test_a_ticket_that_waits_cannot_ask_a_second_time() -> None:
    queue = small()
    queue.ask("a", "x")
    queue.ask("a", "y")
    with pytest.raises(ValueError, match="waits already"):
        queue.ask("a", "y")
    assert queue.queued == 1


@pytest.mark.parametrize("scope", ["a", "nobody"], ids=["known but idle", "unknown"])
def test_an_end_without_a_beginning_is_the_caller_s_mistake(scope: str) -> None:
    queue = small()
    queue.ask("b", "x")
    queue.ask("a", "y")
    with pytest.raises(ValueError, match="nothing in flight"):
        queue.done(scope, now=0.0)
    assert (queue.in_flight, queue.queued) == (1, 1)


def test_scopes_that_come_and_go_leave_nothing_behind() -> None:
    queue = small(max_in_flight=2)
    queue.ask("busy", "x")
    queue.ask("busy too", "y")
    for number in range(2000):
        queue.ask(f"passing {number}", "ticket")
        queue.withdraw(f"passing {number}", "ticket")
    assert queue.scopes == ("busy", "busy too")
    assert len(queue._listed) + len(queue._rounds) < 20  # white box: the memory is what the claim is about


def test_the_retry_hint_follows_the_pace_at_which_the_scope_completes() -> None:
    queue = small()
    queue.ask("a", "x")
    refused(queue)
    for number in range(1, 11):
        queue.done("a", now=number * 2.0)
        queue.ask("a", f"more {number}")
    assert refused(queue).retry_after_seconds == pytest.approx((3 + 1) * 2.0)


def test_the_retry_hint_follows_a_change_of_pace() -> None:
    queue = small()
    queue.ask("a", "x")
    now = 0.0
    for seconds_each in (10.0, 0.1):
        for number in range(400):
            now += seconds_each
            queue.ask("a", f"{seconds_each} {number}")
            queue.done("a", now=now)
    assert refused(queue).retry_after_seconds == pytest.approx(4 * 0.1, rel=0.2)


def test_the_retry_hint_is_a_second_until_a_pace_is_seen() -> None:
    queue = small()
    queue.ask("a", "x")
    assert refused(queue).retry_after_seconds == 1.0


@pytest.mark.parametrize(("seconds_each", "hint"), [(1e-6, 0.05), (0.0, 0.05), (3600.0, 60.0)])
def test_the_retry_hint_is_never_below_50_milliseconds_nor_above_a_minute(seconds_each: float, hint: float) -> None:
    queue = small()
    queue.ask("a", "x")
    refused(queue)
    for number in range(1, 4):
        queue.done("a", now=number * seconds_each)
        queue.ask("a", f"more {number}")
    assert refused(queue).retry_after_seconds == hint


@pytest.mark.parametrize(
    "bad",
    [{"max_in_flight": 0}, {"max_in_flight_per_scope": 0}, {"max_queued_per_scope": -1}, {"max_in_flight": True}],
    ids=str,
)
def test_a_bound_that_admits_nothing_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(LimitError):
        small(**bad)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_share_is_refused(weight: float) -> None:
    with pytest.raises(LimitError, match="weights"):
        FairQueue[str](max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=1, weights={"a": weight})


@pytest.mark.parametrize("weights", [{"a": 1e-300}, {"a": 5e-324}, {"b": 1e300}], ids=str)
def test_an_extreme_weight_neither_breaks_the_queue_nor_starves_a_lone_scope(weights: dict[str, float]) -> None:
    queue: FairQueue[int] = FairQueue(
        max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=100, weights=weights
    )
    for number in range(50):
        queue.ask("a", number)
    assert [queue.done("a", now=0.0) for _ in range(49)] == [(number,) for number in range(1, 50)]
