"""Whatever the order of calls: both caps hold, order holds within a scope, no ticket is lost or started twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from symfonic_ray.admission import Admitted, FairQueue, Queued, Refused

SCOPES = ("a", "b", "c", "d")


class FairQueueAgainstAModel(RuleBasedStateMachine):
    """The model keeps plain lists; it says what may happen, not which scope is next."""

    @initialize(
        most=st.integers(1, 5),
        most_of_scope=st.integers(1, 4),
        most_queued=st.integers(0, 6),
        weights=st.dictionaries(st.sampled_from(SCOPES), st.floats(0.01, 100.0)),
    )
    def start(self, most: int, most_of_scope: int, most_queued: int, weights: dict[str, float]) -> None:
        self.most, self.most_of_scope, self.most_queued = most, most_of_scope, most_queued
        self.queue: FairQueue[int] = FairQueue(
            max_in_flight=most,
            max_in_flight_per_scope=most_of_scope,
            max_queued_per_scope=most_queued,
            weights=weights,
        )
        self.waiting: dict[str, list[int]] = {scope: [] for scope in SCOPES}
        self.running: Counter[str] = Counter()
        self.owner: dict[int, str] = {}
        self.now = 0.0

    @rule(scope=st.sampled_from(SCOPES))
    def ask(self, scope: str) -> None:
        ticket = len(self.owner)
        self.owner[ticket] = scope
        has_slot = self.running.total() < self.most and self.running[scope] < self.most_of_scope
        answer = self.queue.ask(scope, ticket)
        if isinstance(answer, Admitted):
            assert has_slot
            assert not self.waiting[scope]
            self.running[scope] += 1
        elif isinstance(answer, Queued):
            assert not has_slot
            self.waiting[scope].append(ticket)
            assert answer.position == len(self.waiting[scope])
        else:
            assert not has_slot
            assert answer.queued == len(self.waiting[scope]) == self.most_queued

    @precondition(lambda self: self.running.total())
    @rule(data=st.data(), seconds=st.floats(0.0, 5.0))
    def done(self, data: st.DataObject, seconds: float) -> None:
        scope = data.draw(st.sampled_from(sorted(+self.running)))
        self.now += seconds
        self.running[scope] -= 1
        for ticket in self.queue.done(scope, now=self.now):
            owner = self.owner[ticket]
            assert self.waiting[owner][0] == ticket
            del self.waiting[owner][0]
            self.running[owner] += 1

    @precondition(lambda self: any(self.waiting.values()))
    @rule(data=st.data())
    def withdraw_one_that_waits(self, data: st.DataObject) -> None:
        scope = data.draw(st.sampled_from([scope for scope in SCOPES if self.waiting[scope]]))
        ticket = data.draw(st.sampled_from(self.waiting[scope]))
        assert self.queue.withdraw(scope, ticket)
        self.waiting[scope].remove(ticket)

    @precondition(lambda self: self.owner)
    @rule(data=st.data())
    def withdraw_any(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.owner)))
        scope = data.draw(st.sampled_from(SCOPES))
        assert self.queue.withdraw(scope, ticket) is (ticket in self.waiting[scope])
        if ticket in self.waiting[scope]:
            self.waiting[scope].remove(ticket)

    @invariant()
    def caps_hold_and_counts_are_true(self) -> None:
        assert self.queue.in_flight == self.running.total() <= self.most
        assert self.queue.queued == sum(map(len, self.waiting.values()))
        for scope in SCOPES:
            assert self.queue.in_flight_of(scope) == self.running[scope] <= self.most_of_scope
            assert self.queue.queued_of(scope) == len(self.waiting[scope]) <= self.most_queued

    @invariant()
    def a_free_slot_is_never_kept_from_a_scope_below_its_cap(self) -> None:
        if self.running.total() < self.most:
            assert all(self.running[scope] == self.most_of_scope for scope in SCOPES if self.waiting[scope])

    @invariant()
    def positions_are_places_in_the_scope_s_own_queue(self) -> None:
        for ticket, scope in self.owner.items():
            waiting = self.waiting[scope]
            assert self.queue.position(scope, ticket) == (waiting.index(ticket) + 1 if ticket in waiting else None)

    @invariant()
    def idle_scopes_are_forgotten(self) -> None:
        assert set(self.queue.scopes) == {scope for scope in SCOPES if self.running[scope] or self.waiting[scope]}

    def teardown(self) -> None:
        if not hasattr(self, "queue"):
            return
        while self.running.total():
            scope = max(+self.running)
            self.running[scope] -= 1
            for ticket in self.queue.done(scope, now=self.now):
                self.waiting[self.owner[ticket]].remove(ticket)
                self.running[self.owner[ticket]] += 1
        assert not any(self.waiting.values()), "tickets were lost"
        assert (self.queue.in_flight, self.queue.queued, self.queue.scopes) == (0, 0, ())


FairQueueAgainstAModel.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestEveryInterleaving = FairQueueAgainstAModel.TestCase


def test_a_refusal_says_overload_and_keeps_nothing() -> None:
    queue: FairQueue[str] = FairQueue(max_in_flight=1, max_in_flight_per_scope=1, max_queued_per_scope=0)
    queue.ask("a", "first")
    refused = queue.ask("b", "second")
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.queued) == ("overload", 0)
    assert queue.scopes == ("a",)
    assert queue.done("a", now=1.0) == ()
