"""A job is the same when its fleet, child and tasks are; a total that one side does not know decides nothing."""

from __future__ import annotations

import pytest

from symfonic_ray.journal import JobIdentity

JOB = JobIdentity("papers", "reader", "5f2a", 10)


@pytest.mark.parametrize(
    ("asked", "differing"),
    [
        (JobIdentity("papers", "reader", "5f2a", 10), []),
        (JobIdentity("papers", "reader", "5f2a"), []),
        (JobIdentity("papers", "reader", "5f2a", 11), ["total"]),
        (JobIdentity("books", "reader", "5f2a", 10), ["fleet"]),
        (JobIdentity("papers", "Reader", "5f2a", 10), ["child"]),
        (JobIdentity("papers", "critic", "77", None), ["child", "tasks_digest"]),
    ],
    ids=["all alike", "total unknown", "total", "fleet", "child, by case", "child and tasks"],
)
def test_what_differs_is_named(asked: JobIdentity, differing: list[str]) -> None:
    assert [name for name, _, _ in JOB.differences(asked)] == differing


def test_a_difference_tells_both_values() -> None:
    assert JOB.differences(JobIdentity("papers", "critic", "5f2a")) == (("child", "'reader'", "'critic'"),)


@pytest.mark.parametrize(
    "wrong",
    [
        (None, "c", "d"),
        ("f", 3, "d"),
        ("f", "c", b"d"),
        ("f", "c", "d", -1),
        ("f", "c", "d", True),
        ("f", "\ud800", "d"),
    ],
    ids=repr,
)
def test_a_field_that_cannot_be_kept_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        JobIdentity(*wrong)  # type: ignore[arg-type]  # wrong on purpose
