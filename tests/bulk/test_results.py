"""Results: what a line holds, how they are counted, put in order, and where they may be written."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from symfonic_ray.bulk import BulkResult, ResultsFile, Tally, results_problem
from symfonic_ray.bulk.in_order import InOrder
from symfonic_ray.bulk.tally import SAMPLE


def result(index: int, outcome: str = "delivered", reason: str = "", seconds: float = 1.0) -> BulkResult:
    """A result as a job makes it."""
    return BulkResult(
        index=index, line=index + 1, id=None, outcome=outcome, reason=reason, message="a\nb", seconds=seconds
    )


def test_a_line_is_one_json_object_in_ascii_whatever_the_child_said() -> None:
    line = BulkResult(
        index=3, line=4, id="ü", outcome="delivered", reason="", message="a\nb\u2028\ud800", run_id="r", usage={"n": 1}
    ).as_line()
    assert line.isascii()
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert json.loads(line) == {
        "index": 3,
        "id": "ü",
        "line": 4,
        "outcome": "delivered",
        "reason": "",
        "message": "a\nb\u2028\ud800",
        "seconds": 0.0,
        "run_id": "r",
        "usage": {"n": 1},
        "fresh": False,
    }


def test_a_line_names_its_job_where_there_is_one() -> None:
    assert json.loads(result(0).as_line("abc"))["job"] == "abc"


def test_a_tally_counts_by_outcome_and_reason() -> None:
    tally = Tally()
    for one in (
        result(0),
        result(1),
        result(2, "child_failed", "timeout"),
        result(3, "invalid", "malformed"),
        result(4, "unknown", "unknown"),
    ):
        tally.count(one)
    summary = tally.summary()
    assert summary.by_outcome == {"delivered": 2, "child_failed": 1, "invalid": 1, "unknown": 1}
    assert summary.by_reason == {"timeout": 1, "malformed": 1, "unknown": 1}
    assert (summary.total, summary.delivered, tally.done, tally.failed) == (5, 2, 5, 3)


def test_percentiles_are_numpy_s_and_leave_out_what_never_ran() -> None:
    tally = Tally()
    seconds = [0.1 * number for number in range(1, 12)]
    for number, value in enumerate(seconds):
        tally.count(result(number, seconds=value))
    tally.count(result(20, "invalid", "malformed", seconds=0.0))
    expected = np.percentile(seconds, [50, 90, 99])
    assert list(tally.summary().percentiles.values()) == pytest.approx(list(expected))


def test_the_slowest_five_come_slowest_first_and_equals_in_task_order() -> None:
    tally = Tally()
    for index, seconds in enumerate([1.0, 9.0, 3.0, 3.0, 7.0, 2.0, 8.0]):
        tally.count(result(index, seconds=seconds))
    assert [task.index for task in tally.summary().slowest] == [1, 6, 4, 2, 3]


def test_a_summary_of_nothing_has_no_percentiles() -> None:
    summary = Tally().summary()
    assert (summary.total, summary.percentiles, summary.slowest) == (0, {}, ())


def test_a_tally_s_memory_does_not_follow_the_number_of_results() -> None:
    tally = Tally()
    for index in range(SAMPLE * 2):
        tally.count(result(index, seconds=index / SAMPLE))
    assert len(tally._seconds) < SAMPLE
    assert tally.summary().percentiles["p50"] == pytest.approx(1.0, abs=0.001)


@pytest.fixture
def order() -> tuple[InOrder, list[int]]:
    delivered: list[int] = []
    return InOrder(lambda one: delivered.append(one.index), window=2), delivered


async def test_results_are_let_go_in_the_order_of_their_tasks(order: tuple[InOrder, list[int]]) -> None:
    in_order, delivered = order
    in_order.put(result(1))
    assert delivered == []
    in_order.put(result(0))
    assert delivered == [0, 1]


async def test_a_task_waits_when_it_would_run_too_far_ahead(order: tuple[InOrder, list[int]]) -> None:
    in_order, _ = order
    await in_order.room()
    await in_order.room()
    third = asyncio.ensure_future(in_order.room())
    in_order.put(result(1))
    await asyncio.sleep(0)
    assert not third.done()
    in_order.put(result(0))
    await asyncio.wait_for(third, 1.0)


async def test_what_waits_for_a_result_that_never_comes_is_let_go_at_the_end(order: tuple[InOrder, list[int]]) -> None:
    in_order, delivered = order
    in_order.put(result(2))
    in_order.put(result(1))
    in_order.flush()
    assert delivered == [1, 2]


def test_a_result_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultsFile.create(path, replace=False) as results:
        results.write(result(0))
        assert json.loads(path.read_text())["index"] == 0


def test_a_file_is_not_written_over_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        ResultsFile.create(path, replace=False)
    assert path.read_text() == "precious"
    ResultsFile.create(path, replace=True).close()
    assert path.read_text() == ""


def test_a_rebuilt_file_takes_the_place_of_the_old_one_at_once_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old\n")
    with ResultsFile.beside(path, job="j") as results:
        results.write(result(0))
        assert path.read_text() == "old\n"
        results.take_place()
        assert path.read_text().count("\n") == 1
        results.write(result(1))
        assert [json.loads(line)["index"] for line in path.read_text().splitlines()] == [0, 1]
    assert list(tmp_path.iterdir()) == [path]


def test_a_rebuild_that_ends_early_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old\n")
    with ResultsFile.beside(path, job="j") as results:
        results.write(result(0))
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "job", "replace", "words"),
    [
        (None, None, False, ""),
        ("x", None, False, "--force"),
        ("x", None, True, ""),
        ("", None, False, "--force"),
        ("", "j", False, ""),
        ('{"job": "j", "index": 0}\n', "j", False, ""),
        ('{"job": "other", "index": 0}\n', "j", False, "does not hold the results of this journal's job"),
        ("[1]\n", "j", False, "does not hold"),
        ("{broken", "j", False, "does not hold"),
        ("{broken", "j", True, ""),
    ],
    ids=[
        "a new file",
        "an existing one",
        "one to be replaced",
        "an empty one of nobody's",
        "an empty one of a job killed early",
        "the job's own",
        "another job's",
        "a list",
        "no JSON",
        "no JSON, to be replaced",
    ],
)
def test_an_existing_file_is_replaced_only_when_it_is_the_job_s_own_or_was_given_up(
    tmp_path: Path, content: str | None, job: str | None, replace: bool, words: str
) -> None:
    path = tmp_path / "out.jsonl"
    if content is not None:
        path.write_text(content)
    problem = results_problem(path, replace=replace, job=job)
    assert words in problem
    assert bool(problem) == bool(words)


@pytest.mark.parametrize(
    ("place", "words"), [(".", "is a folder"), ("none/out.jsonl", "does not exist"), ("/dev/null", "no regular file")]
)
def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, place: str, words: str) -> None:
    assert words in results_problem(tmp_path / place, replace=True, job=None)
