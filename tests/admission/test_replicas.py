"""How many hosts a child should have: up by one under load, down by one after idleness, always within its range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.admission import desired_replicas


def desired(current: int, **facts: float) -> int:
    given_facts = {"least": 1, "most": 4, "in_flight": 0, "waiting": 0, "concurrency": 2, "idle_seconds": 0.0, **facts}
    return desired_replicas(current, **given_facts)  # type: ignore[arg-type]  # whole numbers come as floats here


@pytest.mark.parametrize(
    ("current", "facts", "wanted"),
    [
        (2, {"in_flight": 4, "waiting": 1}, 3),
        (2, {"in_flight": 4, "waiting": 500}, 3),
        (2, {"in_flight": 2, "waiting": 2}, 2),
        (2, {"in_flight": 2, "waiting": 3}, 3),
        (2, {"in_flight": 7, "waiting": 1}, 3),
        (4, {"in_flight": 8, "waiting": 500}, 4),
        (2, {"idle_seconds": 30.0}, 1),
        (4, {"idle_seconds": 3000.0}, 3),
        (2, {"idle_seconds": 29.9}, 2),
        (1, {"idle_seconds": 3000.0}, 1),
        (2, {"idle_seconds": 30.0, "in_flight": 2}, 1),
        (2, {"idle_seconds": 30.0, "in_flight": 3}, 2),
        (2, {"idle_seconds": 30.0, "in_flight": 2, "waiting": 1}, 2),
        (2, {"idle_seconds": 5.0, "idle_before_shrink": 5.0}, 1),
        (0, {"least": 2}, 2),
        (9, {"in_flight": 18, "waiting": 9}, 4),
    ],
    ids=[
        "one more waits than there are turns",
        "a flood still adds one",
        "as many wait as there are turns",
        "one more than the free turns",
        "more run than there are turns, by re-entrance",
        "never above the most",
        "idle for long",
        "long idleness still takes one",
        "not idle for long enough",
        "never below the least",
        "the rest has turns for what runs",
        "the rest has too few turns for what runs",
        "the rest has too few turns for what waits",
        "the idle time can be set",
        "below the range",
        "above the range",
    ],
)
def test_one_step_follows_from_load_and_idleness(current: int, facts: dict[str, float], wanted: int) -> None:
    assert desired(current, **facts) == wanted


@given(
    current=st.integers(0, 20),
    least=st.integers(1, 5),
    extra=st.integers(0, 5),
    in_flight=st.integers(0, 100),
    waiting=st.integers(0, 100),
    concurrency=st.integers(1, 8),
    idle_seconds=st.floats(0, 100),
)
def test_the_answer_is_within_the_range_and_at_most_one_step_from_it(
    current: int, least: int, extra: int, in_flight: int, waiting: int, concurrency: int, idle_seconds: float
) -> None:
    wanted = desired_replicas(
        current,
        least=least,
        most=least + extra,
        in_flight=in_flight,
        waiting=waiting,
        concurrency=concurrency,
        idle_seconds=idle_seconds,
    )
    assert least <= wanted <= least + extra
    assert abs(wanted - min(max(current, least), least + extra)) <= 1


def test_what_has_just_grown_does_not_shrink_under_the_same_load() -> None:
    grown = desired(2, in_flight=4, waiting=1, idle_seconds=100.0)
    assert desired(grown, in_flight=5, waiting=0, idle_seconds=100.0) == grown
