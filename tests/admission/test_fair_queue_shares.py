"""Who is next: shares follow weights, a newcomer is not kept waiting, and a scope's idle time earns nothing."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic_ray.admission import Admitted, FairQueue, Queued

WINDOW = 200  # dispatches over which shares are compared with weights


class Backlog:
    """Scopes that always have more tickets waiting, served by slots that end in the order in which they began."""

    def __init__(self, scopes: Iterable[str], *, weights: Mapping[str, float]) -> None:
        self.queue: FairQueue[tuple[str, int]] = FairQueue(
            max_in_flight=4, max_in_flight_per_scope=4, max_queued_per_scope=10_000, weights=weights
        )
        self.running: deque[str] = deque()
        self.asked = 0
        for _ in range(8):
            for scope in scopes:
                self.ask(scope)

    def ask(self, scope: str) -> tuple[str, int]:
        ticket = (scope, self.asked)
        self.asked += 1
        if isinstance(self.queue.ask(scope, ticket), Admitted):
            self.running.append(scope)
        return ticket

    def dispatch(self) -> tuple[str, int]:
        """End the oldest run; the ticket that starts instead. Its scope asks anew, so it stays backlogged."""
        (ticket,) = self.queue.done(self.running.popleft(), now=0.0)
        self.running.append(ticket[0])
        self.ask(ticket[0])
        return ticket


def sliding_counts(started: list[str], window: int) -> list[Counter[str]]:
    return [Counter(started[at : at + window]) for at in range(0, len(started) - window + 1, 7)]


@pytest.mark.parametrize(
    "weights",
    [
        {"a": 3.0, "b": 1.0},
        {"a": 1.0, "b": 1.0, "c": 1.0},
        {"a": 5.0, "b": 2.5, "c": 1.0},
        {"a": 0.7, "b": 0.3, "c": 0.41},
        {f"s{number}": 1.0 + number % 3 for number in range(8)},
    ],
    ids=["3 to 1", "equal", "5 to 2.5 to 1", "below one", "eight scopes"],
)
def test_shares_of_backlogged_scopes_match_their_weights_in_any_200_dispatches(weights: dict[str, float]) -> None:
    backlog = Backlog(weights, weights=weights)
    started = [backlog.dispatch()[0] for _ in range(5 * WINDOW)]
    whole = sum(weights.values())
    for counts in sliding_counts(started, WINDOW):
        for scope, weight in weights.items():
            assert counts[scope] == pytest.approx(WINDOW * weight / whole, rel=0.1)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(1.0, 3.0), min_size=2))
def test_shares_match_whatever_the_weights(weights: dict[str, float]) -> None:
    backlog = Backlog(weights, weights=weights)
    counts = Counter(backlog.dispatch()[0] for _ in range(5 * WINDOW))
    whole = sum(weights.values())
    for scope, weight in weights.items():
        assert counts[scope] == pytest.approx(5 * WINDOW * weight / whole, rel=0.1)


def test_a_great_weight_that_is_not_active_does_not_coarsen_the_others() -> None:
    backlog = Backlog("ab", weights={"absent": 1e9})
    started = [backlog.dispatch()[0] for _ in range(100)]
    assert all(one != other for one, other in pairwise(started))


def test_scopes_of_equal_weight_take_turns() -> None:
    backlog = Backlog("abc", weights={})
    started = [backlog.dispatch()[0] for _ in range(30)]
    assert all(set(started[at : at + 3]) == {"a", "b", "c"} for at in range(0, 30, 3))


@settings(max_examples=60, deadline=None)
@given(
    scopes=st.integers(1, 12),
    before=st.integers(0, 60),
    newcomer_weight=st.floats(0.01, 5.0),
    weights=st.lists(st.floats(0.1, 10.0), min_size=12, max_size=12),
)
def test_a_newcomer_s_single_ticket_starts_within_one_dispatch_for_each_active_scope_and_its_own(
    scopes: int, before: int, newcomer_weight: float, weights: list[float]
) -> None:
    shares = {f"s{number}": weights[number] for number in range(scopes)}
    backlog = Backlog(shares, weights={**shares, "newcomer": newcomer_weight})
    for _ in range(before):
        backlog.dispatch()
    wanted = backlog.ask("newcomer")
    started = [backlog.dispatch() for _ in range(scopes + 1)]
    assert wanted in started


def test_a_flood_of_2000_does_not_delay_another_s_single_task_by_more_than_two_dispatches() -> None:
    queue: FairQueue[str] = FairQueue(max_in_flight=32, max_in_flight_per_scope=32, max_queued_per_scope=2000)
    for number in range(2000):
        queue.ask("flood", f"flood {number}")
    queue.ask("single", "the one")
    assert "the one" in [ticket for _ in range(2) for ticket in queue.done("flood", now=0.0)]


def test_a_stream_of_newcomers_does_not_starve_a_scope_that_waits() -> None:
    queue: FairQueue[str] = FairQueue(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=10)
    queue.ask("running", "running")
    queue.ask("patient", "patient")
    holder = "running"
    for number in range(5):
        queue.ask(f"new {number}", f"new {number}")
        (holder,) = queue.done(holder, now=0.0)
        if holder == "patient":
            return
    pytest.fail("the scope that waited first was passed over")


def test_a_scope_saves_up_no_credit_while_it_has_nothing_to_do() -> None:
    queue: FairQueue[str] = FairQueue(max_in_flight=2, max_in_flight_per_scope=2, max_queued_per_scope=1000)
    queue.ask("idle", "running")  # stays in flight, so the scope is known, and asks for nothing more
    for number in range(200):
        queue.ask("busy", f"busy {number}")
    for _ in range(100):
        queue.done("busy", now=0.0)
    for number in range(50):
        queue.ask("idle", f"idle {number}")
    holder = "busy"
    started = Counter[str]()
    for _ in range(20):
        (ticket,) = queue.done(holder, now=0.0)
        holder = ticket.split()[0]
        started[holder] += 1
    assert started["idle"] == pytest.approx(10, abs=1)


def test_a_scope_at_its_own_cap_is_passed_over_and_others_go_on() -> None:
    queue: FairQueue[str] = FairQueue(max_in_flight=3, max_in_flight_per_scope=2, max_queued_per_scope=10)
    for number in range(4):
        queue.ask("greedy", f"greedy {number}")
    queue.ask("other", "other 0")
    assert queue.ask("other", "other 1") == Queued(1)
    assert queue.done("other", now=0.0) == ("other 1",)
    assert queue.done("greedy", now=0.0) == ("greedy 2",)


def test_the_cost_of_a_hand_off_does_not_grow_with_scopes_or_queue() -> None:
    steps = Counter[str]()

    class Counted(str):
        """A scope key that counts how often a table is asked for it."""

        def __hash__(self) -> int:
            steps["hashes"] += 1
            return super().__hash__()

        __eq__ = str.__eq__

    def hashes_of_one_done(scopes: int) -> float:
        queue: FairQueue[int] = FairQueue(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=10)
        keys = [Counted(f"s{number}") for number in range(scopes)]
        queue.ask("first", -1)
        for number, key in enumerate(keys * 4):
            queue.ask(key, number)
        holder: str = "first"
        steps.clear()
        for _ in range(scopes):
            (ticket,) = queue.done(holder, now=0.0)
            holder = keys[ticket % scopes]
        return steps["hashes"] / scopes

    assert hashes_of_one_done(2000) <= hashes_of_one_done(20) * 1.5
