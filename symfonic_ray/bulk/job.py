"""One bulk job: so many tasks at a time to one child, each noted before it starts and after it ends.

Decides what is started when; knows no file of results, no screen and no exit code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from symfonic_ray.bulk.in_order import InOrder
from symfonic_ray.bulk.result import BulkResult, invalid_result, record_result
from symfonic_ray.bulk.tasks import BulkTask, TaskFile
from symfonic_ray.delegation import Fleet
from symfonic_ray.journal import RunJournal
from symfonic_ray.kernel import new_run_id

LOST = frozenset({"controller_lost", "shutting_down"})  # no later task could fare better


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkTerms:
    """How a job is run."""

    child: str
    """Who gets the tasks."""
    in_flight: int
    """Most tasks at one time."""
    timeout_seconds: float | None = None
    """For each task; None for the fleet's own bound."""
    ordered: bool = False
    """Results in the order of the tasks instead of as they end."""


class BulkJob:
    """Hands over the tasks of a file that are not settled.

    Args:
        fleet: whose child gets them.
        tasks: the file.
        terms: how.
        deliver: gets each result once, when it is certain; what it raises ends the job.
        journal: notes every task before its start and its record before its result is delivered; None for none.
        settled: indexes that are left out.
    """

    def __init__(
        self,
        fleet: Fleet,
        tasks: TaskFile,
        terms: BulkTerms,
        deliver: Callable[[BulkResult], None],
        *,
        journal: RunJournal | None = None,
        settled: Container[int] = (),
    ) -> None:
        self._fleet = fleet
        self._tasks = tasks
        self._terms = terms
        self._journal = journal
        self._settled = settled
        self._attempt = new_run_id()
        self._results = InOrder(deliver, window=4 * terms.in_flight) if terms.ordered else None
        self._deliver = deliver if self._results is None else self._results.put
        self.in_flight = 0
        """Tasks that run now."""
        self.stopped = ""
        """Why no further task was started although there are some; empty while they are."""

    async def run(self) -> None:
        """Hand over everything; returns when the last result was delivered.

        Cancelling it cancels the children that run.

        Raises:
            JournalWriteError: when the journal cannot be written; nothing further is started then.
            OSError: when the tasks cannot be read, or ``deliver`` cannot write.
        """
        tasks = self._tasks.read(self._settled)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._terms.in_flight):
                    group.create_task(self._work(tasks))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            if self._results is not None:
                self._results.flush()

    async def _work(self, tasks: Iterator[BulkTask]) -> None:
        """One place in the window: a task after another."""
        while True:
            if self._results is not None:
                await self._results.room()
            task = None if self.stopped else next(tasks, None)
            if task is None:
                return
            if task.problem:
                self._deliver(invalid_result(task))
                await asyncio.sleep(0)  # a file of nothing else must not hold up the loop
            else:
                await self._hand_over(task)

    async def _hand_over(self, task: BulkTask) -> None:
        if self._journal is not None:
            await self._journal.started(task.index, task.digest, self._attempt)
        self.in_flight += 1
        try:
            record = await self._fleet.delegate(
                self._terms.child, task.text, timeout_seconds=self._terms.timeout_seconds
            )
        finally:
            self.in_flight -= 1
        if record.reason in LOST:
            self.stopped = record.message
        fields = record.as_dict()
        try:
            if self._journal is not None:
                await self._journal.ended(task.index, fields)
        finally:  # the answer is at hand, whatever becomes of the journal
            self._deliver(record_result(task, fields))
