"""The checker finds each kind of broken promise, and only that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symfonic_ray.delegation.values import DelegationOutcome, DelegationRecord
from symfonic_ray.testing.simulator import History, Promises, check

PROMISES = Promises(late_seconds=1.0, concurrency={"reader": 1})


def record(reason: str = "", *, message: str = "done", scope_key: str = "acme") -> DelegationRecord:
    """A record of a reader."""
    outcome = DelegationOutcome.CHILD_FAILED if reason else DelegationOutcome.DELIVERED
    return DelegationRecord(
        name="reader", outcome=outcome, depth=1, message=message, reason=reason, scope_key=scope_key
    )


class Told:
    """A history told by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.history = History(lambda: self.now)

    def invoke(self, operation: str = "one") -> None:
        self.history.invoke(operation, scope_key="acme", child="reader", task=f"task of {operation}", seconds=5.0)

    def start(self, operation: str = "one", *, scope_key: str = "acme") -> None:
        self.history.started(f"task of {operation}", "run", scope_key=scope_key, child="reader", instance="i")

    def end(self, operation: str = "one", answer: str = "done") -> None:
        self.history.ended(operation, scope_key="acme", child="reader", instance="i", answer=answer)


def sound(told: Told) -> None:
    told.invoke()
    told.start()
    told.end()
    told.history.record("one", record())
    told.invoke("two")
    told.history.record("two", record("actor_died"))


def no_record(told: Told) -> None:
    told.invoke()


def two_records(told: Told) -> None:
    told.invoke()
    told.history.record("one", record("timeout"))
    told.history.record("one", record("timeout"))


def two_effects(told: Told) -> None:
    told.invoke()
    for _ in range(2):
        told.start()
        told.end()
    told.history.record("one", record())


def foreign_record(told: Told) -> None:
    told.invoke()
    told.history.record("one", record("timeout", scope_key="other"))


def foreign_code(told: Told) -> None:
    told.invoke()
    told.start(scope_key="other")
    told.history.record("one", record("timeout"))


def foreign_answer(told: Told) -> None:
    told.invoke()
    told.start()
    told.end(answer="mine")
    told.history.record("one", record(message="yours"))


def refused_and_run(told: Told) -> None:
    told.invoke()
    told.start()
    told.history.record("one", record("overload"))


def late(told: Told) -> None:
    told.invoke()
    told.now = 6.1
    told.history.record("one", record("timeout"))


def overlapping(told: Told) -> None:
    for operation in ("one", "two"):
        told.invoke(operation)
        told.start(operation)
    for operation in ("one", "two"):
        told.end(operation)
        told.history.record(operation, record())


def lost_error(told: Told) -> None:
    told.history.error("KeyError: 7")


@pytest.mark.parametrize(
    ("tell", "promises"),
    [
        (sound, []),
        (no_record, ["exactly one record"]),
        (two_records, ["exactly one record"]),
        (two_effects, ["at most one effect"]),
        (foreign_record, ["scopes never meet"]),
        (foreign_code, ["scopes never meet"]),
        (foreign_answer, ["its own answer"]),
        (refused_and_run, ["a refusal ran nothing"]),
        (late, ["every wait is bounded"]),
        (overlapping, ["bounds are kept"]),
        (lost_error, ["no error is lost"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_broken_promise_is_found(tell: Callable[[Told], None], promises: list[str]) -> None:
    told = Told()
    tell(told)
    assert [found.promise for found in check(told.history, PROMISES)] == promises


def test_an_idempotent_child_may_run_twice() -> None:
    told = Told()
    two_effects(told)
    assert not check(told.history, Promises(idempotent=frozenset({"reader"})))


def test_a_wait_is_not_late_by_what_the_clock_jumped() -> None:
    told = Told()
    told.invoke()
    told.history.jump(10.0)
    told.now = 15.5
    told.history.record("one", record("timeout"))
    assert not check(told.history, PROMISES)
