"""A bulk job whose driver is killed at a hundred drawn moments, its journal's tail torn: nothing acknowledged is lost
but the last words, and nothing delivered runs again. The job, the fleet and the journal are the real ones.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from symfonic_ray.bulk import BulkJob, BulkTerms, TaskFile
from symfonic_ray.bulk.result import BulkResult
from symfonic_ray.journal import JobIdentity, RunJournal
from symfonic_ray.testing import FakeFleet

TASKS = 24
KILLS = 100
IN_FLIGHT = 4


class Killed(Exception):
    """The driver is no more."""


class Work:
    """A job over one file of tasks, with what every task has done."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.file = folder / "tasks.jsonl"
        self.file.write_text("".join(f'"task {number}"\n' for number in range(TASKS)))
        survey = TaskFile(self.file, longest_bytes=1000).survey()
        self.identity = JobIdentity("fleet", "worker", survey.digest, survey.total)
        self.chance = chance
        self.effects: Counter[int] = Counter()
        self.acknowledged: list[int] = []
        self.dead = False
        """Whether the driver was killed: what its memory still does reaches nobody."""

    async def worker(self, task: str) -> str:
        """Works for a moment and has an effect."""
        if self.dead:
            raise Killed
        self.effects[int(task.split()[1])] += 1
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        return f"did {task}"

    async def run(self, journal_path: Path, *, kill_after: int | None = None, copy_to: Path | None = None) -> None:
        """Work through what is not delivered; when killed, what lies on the disk then is copied."""

        def deliver(result: BulkResult) -> None:
            if self.dead:
                raise Killed
            self.acknowledged.append(result.index)
            if copy_to is not None and len(self.acknowledged) == kill_after:
                self.dead = True
                for tail in ("-wal", ""):  # the log first: what a checkpoint moves meanwhile is in both then
                    if (part := journal_path.with_name(journal_path.name + tail)).exists():
                        shutil.copyfile(part, copy_to.with_name(copy_to.name + tail))
                raise Killed

        async with RunJournal.open(journal_path, job=self.identity) as journal:
            state = journal.state()
            settled = state.delivered | state.unknown
            job = BulkJob(
                FakeFleet({"worker": self.worker}),
                TaskFile(self.file, longest_bytes=1000),
                BulkTerms(child="worker", in_flight=IN_FLIGHT),
                deliver,
                journal=journal,
                settled=settled,
            )
            await job.run()


@pytest.mark.parametrize("torn", [False, True], ids=["killed", "killed and torn"])
async def test_a_job_killed_anywhere_loses_at_most_its_last_words_and_repeats_nothing(
    tmp_path: Path, torn: bool
) -> None:
    lost_altogether = 0
    for seed in range(KILLS // 2):
        chance = random.Random(f"{seed} {torn}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        work = Work(folder, chance)
        copy = folder / "after.journal"
        with pytest.raises(Killed):
            await work.run(folder / "run.journal", kill_after=chance.randrange(1, TASKS), copy_to=copy)
        acknowledged = set(work.acknowledged)
        before = Counter(work.effects)
        if torn:
            log = copy.with_name(copy.name + "-wal")
            size = log.stat().st_size
            with log.open("r+b") as tail:
                tail.truncate(size - chance.randrange(1, 4000))  # within the last page that was written
        async with RunJournal.open(copy, job=work.identity) as journal:
            state = journal.state()
            delivered = set(state.delivered)
            unknown = set(state.unknown)
        lost = acknowledged - delivered
        assert len(lost) <= (IN_FLIGHT if torn else 0), f"seed {seed}: lost {lost}"  # one group commit at most
        lost_altogether += len(lost)
        assert lost <= unknown, f"seed {seed}: {lost - unknown} is as if it had never been started"
        assert delivered <= set(before)
        work.acknowledged.clear()
        work.dead = False
        await work.run(copy)
        again = {index for index, count in work.effects.items() if count > before[index]}
        assert again.isdisjoint(delivered | unknown), f"seed {seed}: ran again"
        assert set(work.acknowledged) == set(range(TASKS)) - delivered - unknown
    assert lost_altogether > 0 if torn else lost_altogether == 0
