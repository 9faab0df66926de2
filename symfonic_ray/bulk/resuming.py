"""Which tasks of an interrupted job run again, and the results of those that do not. Starts nothing."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from symfonic_ray.bulk.result import BulkResult, invalid_result, record_result, unknown_result
from symfonic_ray.bulk.tasks import TaskFile, TaskSurvey
from symfonic_ray.journal import IndexSet, JobIdentity, JournalState, RunJournal
from symfonic_ray.kernel import scope_key


def job_identity(fleet: str, child: str, scope: object, survey: TaskSurvey) -> JobIdentity:
    """Which job a journal is kept for: another scope is another job, since its children are others.

    Args:
        fleet: the fleet's name.
        child: who gets the tasks.
        scope: the tenant.
        survey: of the file of tasks.
    """
    return JobIdentity(f"{fleet}, scope {scope_key(scope)}", child, survey.digest, survey.total)


def job_tag(job: JobIdentity) -> str:
    """12 hexadecimal digits that stand in every result of a job."""
    return hashlib.sha256("\0".join((job.fleet, job.child, job.tasks_digest)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What an earlier run of a job means for this one."""

    kept: IndexSet
    """Tasks whose record stands."""
    unknown: IndexSet
    """Tasks that were running and are not run again."""
    reruns: int
    """Unknown tasks that are run again."""
    retries: int
    """Failed tasks that are run again."""

    @property
    def settled(self) -> IndexSet:
        """Tasks that are not run."""
        settled = self.kept.copy()
        for index in self.unknown:
            settled.add(index)
        return settled


def resumption(state: JournalState, *, rerun_unknown: bool, retry_failed: bool) -> Resumption:
    """Decide it. What was delivered is never run again.

    Args:
        state: the journal's, before anything is started.
        rerun_unknown: run again what may have had its effect already.
        retry_failed: run again what ended without an answer.
    """
    kept = state.delivered.copy()
    for index in () if retry_failed else state.failed:
        kept.add(index)
    return Resumption(
        kept=kept,
        unknown=IndexSet() if rerun_unknown else state.unknown,
        reruns=len(state.unknown) if rerun_unknown else 0,
        retries=len(state.failed) if retry_failed else 0,
    )


async def settled_results(tasks: TaskFile, journal: RunJournal, plan: Resumption) -> AsyncIterator[BulkResult]:
    """The results of all that is not run, in the order of the tasks: kept, unknown, and lines that are no task.

    Raises:
        JournalError: if the journal cannot be read.
        OSError: if the tasks cannot be read.
    """
    rows = journal.rows()
    for task in tasks.read():
        if task.problem:
            yield invalid_result(task)
        elif task.index in plan.unknown:
            yield unknown_result(task)
        elif task.index in plan.kept:
            row = await anext(rows)
            while row.index < task.index:  # a failed task that is run again has a record too
                row = await anext(rows)
            yield record_result(task, row.record)
