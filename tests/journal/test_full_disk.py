"""No room on the disk is said plainly: what was acknowledged stands, what was not does not, and both files agree."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from symfonic_ray.journal import JournalFullError, JournalWriteError, RunJournal
from symfonic_ray.journal.ledger import Ledger
from tests.journal.conftest import JOB, answer, contents, deliver

ROOT = Path(__file__).resolve().parents[2]


async def limit_pages(journal: RunJournal, pages: int) -> None:
    """Have sqlite itself report a full disk once the journal would have more pages than this."""

    def limit(ledger: Ledger) -> None:
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    await journal._writer.ask(limit)


async def test_a_full_disk_refuses_the_row_and_keeps_the_state(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        await journal.started(2, "digest 2", "call 2")
        await limit_pages(journal, 4)
        with pytest.raises(JournalFullError, match="full; free some room"):
            await journal.ended(2, answer(2, size=50_000))
        state = journal.state()
        assert (list(state.delivered), list(state.unknown)) == ([1], [2])
        assert [row.index async for row in journal.rows()] == [1]
    kept, _ = await contents(path)
    assert (list(kept.delivered), list(kept.unknown)) == ([1], [2])


async def test_once_there_is_room_the_same_row_is_taken(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(2, "digest 2", "call 2")
        await limit_pages(journal, 4)
        with pytest.raises(JournalFullError):
            await journal.ended(2, answer(2, size=50_000))
        await limit_pages(journal, 1000)
        await journal.ended(2, answer(2, size=50_000))
    _, (row,) = await contents(path)
    assert (row.record, row.call_id) == (answer(2, size=50_000), "call 2")


async def test_all_that_wait_for_the_failed_commit_are_told_each_by_an_error_of_its_own(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await limit_pages(journal, 4)
        given = await asyncio.gather(
            *(journal.ended(index, answer(index, size=50_000)) for index in range(5)), return_exceptions=True
        )
        assert all(isinstance(error, JournalFullError) for error in given)
        assert len(set(map(id, given))) == 5
        assert not journal.state().delivered


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Have the system refuse to make a file larger; the write that tries gets in part of the way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_disk_that_fails_in_the_middle_of_a_write_leaves_a_journal_that_opens(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1, 2)
        await journal.started(3, "digest", "call")
        with files_no_larger_than(100_000), pytest.raises(JournalWriteError, match="open it again to resume"):
            await journal.ended(3, answer(3, size=200_000))
        with pytest.raises(JournalWriteError):  # also with room: nobody knows what the failed disk holds
            await journal.ended(3, answer(3))
        assert list(journal.state().delivered) == [1, 2]
    kept, rows = await contents(path)
    assert (list(kept.delivered), list(kept.unknown)) == ([1, 2], [3])
    assert [row.record for row in rows] == [answer(1), answer(2)]


async def test_a_journal_that_cannot_be_made_for_want_of_room_is_no_journal(path: Path) -> None:
    with files_no_larger_than(5000), pytest.raises(JournalWriteError):
        await RunJournal.open(path, job=JOB)
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)


FILL = """
import asyncio, json, os, sys
from symfonic_ray.journal import JournalFullError, RunJournal
from tests.journal.conftest import JOB, answer, contents
async def fill():
    acknowledged, refused = [], 0
    with open(sys.argv[1] + "/ballast", "wb") as ballast:
        ballast.write(bytes(100_000))
    async with RunJournal.open(sys.argv[1] + "/run.journal", job=JOB) as journal:
        for index in range(1000):
            try:
                await journal.ended(index, answer(index, size=3000))
            except JournalFullError:
                refused += 1
                if refused == 3:
                    break
            else:
                acknowledged.append(index)
    while True:
        try:
            state, rows = await contents(sys.argv[1] + "/run.journal")
            break
        except JournalFullError:  # opening needs a little room too
            os.unlink(sys.argv[1] + "/ballast")
    print(json.dumps([acknowledged, refused, list(state.delivered), [row.index for row in rows]]))
asyncio.run(fill())
"""


def test_a_file_system_that_is_really_full_loses_nothing_acknowledged(tmp_path: Path) -> None:
    mount = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=400k none {tmp_path}"]
    if subprocess.run(mount, capture_output=True, timeout=20).returncode:
        pytest.skip("this user may not mount a small file system")
    mount[-1] += f' && exec "{sys.executable}" -c "$0" {tmp_path}'
    done = subprocess.run([*mount, FILL], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    acknowledged, refused, delivered, rows = json.loads(done.stdout)
    assert refused == 3
    assert len(acknowledged) > 10
    assert acknowledged == delivered == rows
