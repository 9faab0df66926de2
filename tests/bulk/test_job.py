"""A bulk job over plain functions and a real journal: one result a task, bounded, and never a second delivery."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.bulk import (
    BulkJob,
    BulkResult,
    BulkTerms,
    TaskFile,
    TaskSurvey,
    job_identity,
    job_tag,
    resumption,
    settled_results,
)
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord
from symfonic_ray.journal import JournalJobError, JournalWriteError, RunJournal
from symfonic_ray.testing import FakeFleet


class Work:
    """A child and what it saw."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.running = self.peak = 0

    async def run(self, task: str) -> str:
        """Works."""
        self.seen[task] += 1
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            if task.startswith("wait"):
                await asyncio.sleep(60)
            await asyncio.sleep(0.05 if task.startswith("slow") else 0.001)
            if task.startswith("fail"):
                raise ValueError("no such thing")
        finally:
            self.running -= 1
        return f"did {task}"


async def until(happened: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for what the event loop's other tasks do."""
    ends_at = time.monotonic() + seconds
    while not happened():  # plain counters: the tests must not shape the code under test
        assert time.monotonic() < ends_at
        await asyncio.sleep(0.001)


def tasks_of(folder: Path, *values: Any) -> TaskFile:
    """A file of the given JSON values; a bytes value stands for itself."""
    path = folder / "tasks.jsonl"
    path.write_bytes(b"".join((v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n" for v in values))
    return TaskFile(path, longest_bytes=10_000)


def terms(**changes: Any) -> BulkTerms:
    """Terms for the child ``work``."""
    fields: dict[str, Any] = {"child": "work", "in_flight": 4, "timeout_seconds": None}
    return BulkTerms(**(fields | changes))


async def outcomes(work: Work, tasks: TaskFile, **changes: Any) -> list[BulkResult]:
    """Every result of one job."""
    results: list[BulkResult] = []
    await BulkJob(FakeFleet({"work": work.run}), tasks, terms(**changes), results.append).run()
    return results


async def test_every_line_has_one_result_and_a_bad_one_costs_no_other(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "a", b"{broken", {"id": "x", "task": "fail"}, {"q": 1})
    results = {one.index: one for one in await outcomes(Work(), tasks)}
    assert len(results) == 4
    assert (results[0].outcome, results[0].message) == ("delivered", "did a")
    assert (results[1].outcome, results[1].reason) == ("invalid", "malformed")
    assert results[1].message.startswith("line 2 ")
    assert (results[2].id, results[2].outcome, results[2].reason) == ("x", "child_failed", "exception")
    assert "no such thing" in results[2].message
    assert results[3].message == 'did {"q": 1}'


async def test_no_more_tasks_run_at_a_time_than_the_window_holds(tmp_path: Path) -> None:
    work = Work()
    await outcomes(work, tasks_of(tmp_path, *(f"t{number}" for number in range(50))), in_flight=7)
    assert work.peak == 7
    assert len(work.seen) == 50


async def test_tasks_are_read_only_as_places_become_free(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, *(f"wait{number}" for number in range(20)))
    work = Work()
    running = asyncio.ensure_future(outcomes(work, tasks, in_flight=3))
    await until(lambda: len(work.seen) == 3)
    await asyncio.sleep(0.02)
    assert len(work.seen) == 3
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert work.running == 0


async def test_results_come_as_tasks_end_unless_order_is_asked_for(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "slow", *(f"t{number}" for number in range(30)))
    assert (await outcomes(Work(), tasks))[0].index != 0
    ordered = await outcomes(Work(), tasks, ordered=True)
    assert [one.index for one in ordered] == list(range(31))


async def test_a_task_that_takes_too_long_is_a_result(tmp_path: Path) -> None:
    (slow, quick) = sorted(
        await outcomes(Work(), tasks_of(tmp_path, "wait", "b"), timeout_seconds=0.05), key=lambda one: one.index
    )
    assert (slow.outcome, slow.reason) == ("child_failed", "timeout")
    assert quick.delivered


async def test_an_interrupted_job_delivers_what_it_has_and_stops_the_rest(tmp_path: Path) -> None:
    work, results = Work(), list[BulkResult]()
    tasks = tasks_of(tmp_path, "a", "wait1", "wait2", "wait3")
    job = BulkJob(FakeFleet({"work": work.run}), tasks, terms(ordered=True), results.append)
    running = asyncio.ensure_future(job.run())
    await until(lambda: bool(results))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [one.index for one in results] == [0]
    assert (work.running, job.in_flight) == (0, 0)


class LostFleet(FakeFleet):
    """A fleet whose controller dies at the third task."""

    async def delegate(self, name: str, task: Any, *, timeout_seconds: float | None = None) -> DelegationRecord:
        if task != "t2":
            return await super().delegate(name, task, timeout_seconds=timeout_seconds)
        return DelegationRecord(
            name=name,
            outcome=DelegationOutcome.CHILD_FAILED,
            depth=1,
            message="the controller is gone",
            reason="controller_lost",
        )


async def test_a_lost_controller_ends_the_job_instead_of_failing_every_task(tmp_path: Path) -> None:
    results: list[BulkResult] = []
    tasks = tasks_of(tmp_path, *(f"t{number}" for number in range(1000)))
    job = BulkJob(LostFleet({"work": Work().run}), tasks, terms(), results.append)
    await job.run()
    assert job.stopped == "the controller is gone"
    assert len(results) < 20


async def test_a_result_that_cannot_be_written_ends_the_job_with_the_reason(tmp_path: Path) -> None:
    def full(result: BulkResult) -> None:
        raise OSError(28, "No space left on device")

    job = BulkJob(FakeFleet({"work": Work().run}), tasks_of(tmp_path, "a", "b"), terms(), full)
    with pytest.raises(OSError, match="No space left"):
        await job.run()


class Journaled:
    """Runs of one job with one journal."""

    def __init__(self, folder: Path, *values: Any) -> None:
        self.tasks = tasks_of(folder, *values)
        self.work = Work()
        self.path = folder / "job.journal"
        self.results: list[BulkResult] = []

    async def run(self, *, rerun_unknown: bool = False, retry_failed: bool = False, scope: str = "acme") -> list[int]:
        """One run; the indexes of what was settled before it."""
        job = job_identity("fleet", "work", scope, self.tasks.survey())
        self.results = []
        async with RunJournal.open(self.path, job=job) as journal:
            plan = resumption(journal.state(), rerun_unknown=rerun_unknown, retry_failed=retry_failed)
            settled = [one async for one in settled_results(self.tasks, journal, plan)]
            self.results = [one for one in settled if one.outcome != "invalid"]
            await BulkJob(
                FakeFleet({"work": self.work.run}),
                self.tasks,
                terms(),
                self.results.append,
                journal=journal,
                settled=plan.settled,
            ).run()
        return [one.index for one in settled]

    async def left_running(self) -> None:
        """Let a run be cut off with every task that waits under way, as a kill cuts it."""
        running = asyncio.ensure_future(self.run())
        waiting = sum(task.text.startswith("wait") for task in self.tasks.read())
        total = self.tasks.survey().total
        await until(lambda: self.work.running == waiting and len(self.results) == total - waiting)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_a_delivered_task_never_runs_again_and_keeps_its_result(tmp_path: Path) -> None:
    job = Journaled(tmp_path, "a", "b", "c")
    await job.run()
    first = sorted(job.results, key=lambda one: one.index)
    assert await job.run(rerun_unknown=True, retry_failed=True) == [0, 1, 2]
    assert job.results == first
    assert set(job.work.seen.values()) == {1}


async def test_a_failed_task_keeps_its_result_unless_it_is_retried(tmp_path: Path) -> None:
    job = Journaled(tmp_path, "a", "fail", {"id": 3, "task": "c"})
    await job.run()
    assert await job.run() == [0, 1, 2]
    assert job.work.seen["fail"] == 1
    assert await job.run(retry_failed=True) == [0, 2]
    assert job.work.seen == {"a": 1, "fail": 2, "c": 1}
    assert [one.id for one in sorted(job.results, key=lambda one: one.index)] == [None, None, 3]


async def test_a_task_that_was_running_is_unknown_and_runs_again_only_when_asked(tmp_path: Path) -> None:
    job = Journaled(tmp_path, "a", "wait", b"{broken", "d")
    await job.left_running()
    assert await job.run() == [0, 1, 2, 3]
    unknown = next(one for one in job.results if one.index == 1)
    assert (unknown.outcome, unknown.reason) == ("unknown", "unknown")
    assert "--rerun-unknown" in unknown.message
    assert job.work.seen["wait"] == 1
    running = asyncio.ensure_future(job.run(rerun_unknown=True))
    await until(lambda: job.work.seen["wait"] == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert job.work.seen == {"a": 1, "wait": 2, "d": 1}


async def test_every_task_is_noted_before_it_starts(tmp_path: Path) -> None:
    job = Journaled(tmp_path, "wait1", "wait2")
    await job.left_running()
    identity = job_identity("fleet", "work", "acme", job.tasks.survey())
    async with RunJournal.open(job.path, job=identity) as journal:
        assert list(journal.state().unknown) == [0, 1]


async def test_a_journal_that_cannot_be_written_ends_the_job_and_keeps_the_answer(tmp_path: Path) -> None:
    job = Journaled(tmp_path, *(f"t{number}" for number in range(100)))
    identity = job_identity("fleet", "work", "acme", job.tasks.survey())
    async with RunJournal.open(job.path, job=identity) as journal:
        full = FullJournal(journal)
        running = BulkJob(FakeFleet({"work": job.work.run}), job.tasks, terms(), job.results.append, journal=full)
        with pytest.raises(JournalWriteError):
            await running.run()
    assert 10 <= len(job.results) < 20
    assert len(job.work.seen) < 20


class FullJournal(RunJournal):
    """A journal on a disk that is full after ten records."""

    def __init__(self, journal: RunJournal) -> None:
        self._whole = journal
        self._closing = True
        self._left = 10

    async def started(self, index: int, task_digest: str, call_id: str) -> None:
        await self._whole.started(index, task_digest, call_id)

    async def ended(self, index: int, record: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise JournalWriteError("job.journal", "no room")
        await self._whole.ended(index, record)


async def test_another_scope_is_another_job(tmp_path: Path) -> None:
    job = Journaled(tmp_path, "a")
    await job.run()
    with pytest.raises(JournalJobError, match="scope zeta"):
        await job.run(scope="zeta")


def test_a_job_s_tag_tells_it_from_jobs_of_another_fleet_child_scope_or_file() -> None:
    survey = TaskSurvey(total=3, digest="ab")
    jobs = [
        job_identity("fleet", "work", "acme", survey),
        job_identity("fleet2", "work", "acme", survey),
        job_identity("fleet", "other", "acme", survey),
        job_identity("fleet", "work", "zeta", survey),
        job_identity("fleet", "work", "acme", TaskSurvey(total=3, digest="cd")),
    ]
    assert len({job_tag(job) for job in jobs}) == 5
    assert job_tag(jobs[0]) == job_tag(job_identity("fleet", "work", "acme", survey))
