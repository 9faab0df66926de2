"""The ceiling on delegation."""

from __future__ import annotations

import pytest

from symfonic_ray.delegation import DEFAULT_MAX_DEPTH, DepthPolicy, coerce_depth


class Sour:
    def __int__(self) -> int:
        raise RuntimeError("no")


READINGS = {
    "zero": (0, 0),
    "a number": (4, 4),
    "a fraction": (2.9, 2),
    "digits": ("2", 2),
    "true": (True, 1),
    "negative": (-1, 0),
    "negative digits": ("-2", 0),
    "infinity": (float("inf"), 0),
    "minus infinity": (float("-inf"), 0),
    "not a number": (float("nan"), 0),
    "None": (None, 0),
    "words": ("deep", 0),
    "too many digits": ("9" * 5000, 0),
    "a list": ([1], 0),
    "an object whose int raises": (Sour(), 0),
}


@pytest.mark.parametrize(("value", "depth"), READINGS.values(), ids=READINGS.keys())
def test_anything_reads_as_a_plain_non_negative_int(value: object, depth: int) -> None:
    read = coerce_depth(value)
    assert (read, type(read)) == (depth, int)


def test_the_default_ceiling_is_three_levels() -> None:
    assert DEFAULT_MAX_DEPTH == 3


ADMISSIONS = [(0, 0, False), (1, 0, True), (1, 1, False), (3, 2, True), (3, 3, False), (3, "x", True), (3, -5, True)]


@pytest.mark.parametrize(("ceiling", "parent", "admitted"), ADMISSIONS)
def test_a_child_may_run_on_the_ceiling_and_not_above(ceiling: int, parent: object, admitted: bool) -> None:
    assert DepthPolicy(ceiling).admits(parent) is admitted


def test_a_child_runs_one_level_below_its_parent() -> None:
    assert DepthPolicy(3).child_depth("1") == 2


@pytest.mark.parametrize("ceiling", [0, 1, 17])
def test_a_refusal_states_the_ceiling(ceiling: int) -> None:
    assert f"ceiling is {ceiling} levels" in DepthPolicy(ceiling).refusal()


@pytest.mark.parametrize("ceiling", [-1, True, 1.0, "3", None])
def test_a_ceiling_that_is_no_number_of_levels_is_refused(ceiling: object) -> None:
    with pytest.raises(ValueError, match="max_depth"):
        DepthPolicy(ceiling)  # type: ignore[arg-type]
