"""Retries: the arithmetic of attempts and pauses."""

from __future__ import annotations

import asyncio
import concurrent.futures

import pytest

from symfonic_ray.execution import RetrySchedule, WorkerDiedError


@pytest.mark.parametrize(
    ("schedule", "delays"),
    [
        (RetrySchedule(5, 0.5, 2.0), [0.5, 1.0, 2.0, 4.0]),
        (RetrySchedule(5, 3.0, 1.0), [3.0, 3.0, 3.0, 3.0]),
        (RetrySchedule(5, 4.0, 0.5), [4.0, 2.0, 1.0, 0.5]),
        (RetrySchedule(5), [0.0, 0.0, 0.0, 0.0]),
        (RetrySchedule(5, -1.0), [0.0, 0.0, 0.0, 0.0]),
    ],
    ids=["doubling", "steady", "shrinking", "no backoff", "a negative backoff"],
)
def test_a_pause_is_backoff_times_multiplier_to_the_attempts_before(
    schedule: RetrySchedule, delays: list[float]
) -> None:
    assert [schedule.delay_for(attempt) for attempt in (1, 2, 3, 4)] == delays


@pytest.mark.parametrize(
    ("max_attempts", "goes_on"),
    [(3, [True, True, False, False]), (1, [False] * 4), (0, [False] * 4), (-5, [False] * 4)],
)
def test_attempts_in_all_are_at_most_the_maximum_and_at_least_one(max_attempts: int, goes_on: list[bool]) -> None:
    schedule = RetrySchedule(max_attempts=max_attempts)
    assert [schedule.should_retry(attempt, ValueError()) for attempt in (1, 2, 3, 4)] == goes_on


def test_only_a_listed_type_or_its_subclass_is_retried() -> None:
    schedule = RetrySchedule(max_attempts=2, retry_on=(OSError, KeyError))
    assert schedule.should_retry(1, ConnectionError())
    assert schedule.should_retry(1, KeyError())
    assert not schedule.should_retry(1, ValueError())


def test_an_exit_is_retried_only_where_it_is_listed() -> None:
    assert not RetrySchedule(max_attempts=2).should_retry(1, SystemExit())
    assert RetrySchedule(max_attempts=2, retry_on=(BaseException,)).should_retry(1, SystemExit())


@pytest.mark.parametrize("error", [asyncio.CancelledError(), concurrent.futures.CancelledError()])
def test_a_cancellation_is_never_retried_whatever_is_listed(error: BaseException) -> None:
    assert not RetrySchedule(max_attempts=9, retry_on=(BaseException, type(error))).should_retry(1, error)


def test_a_dead_worker_is_retried_only_where_it_is_listed_by_name() -> None:
    lost = WorkerDiedError("crawl")
    assert not RetrySchedule(max_attempts=2, retry_on=(Exception,)).should_retry(1, lost)
    assert RetrySchedule(max_attempts=2, retry_on=(WorkerDiedError,)).should_retry(1, lost)
    assert not RetrySchedule(max_attempts=2, retry_on=(WorkerDiedError,)).should_retry(2, lost)


def test_a_dead_worker_of_an_idempotent_tool_is_retried_like_any_error() -> None:
    lost = WorkerDiedError("crawl")
    assert RetrySchedule(max_attempts=2).should_retry(1, lost, idempotent=True)
    assert not RetrySchedule(max_attempts=2, retry_on=(OSError,)).should_retry(1, lost, idempotent=True)
    assert not RetrySchedule().should_retry(1, lost, idempotent=True)
