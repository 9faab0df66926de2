"""Acknowledged means on disk, and many who wait share one wait for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from symfonic_ray.journal import JobIdentity, RunJournal, ledger, wal
from symfonic_ray.journal.files import JournalFiles, size_of
from symfonic_ray.journal.schema import PAGE_BYTES
from tests.journal.conftest import JOB, answer, contents, copy_files, deliver, slow_disk


def commits(path: Path) -> int:
    """Transactions in the log on disk."""
    return wal.read_wal(JournalFiles.at(path), page_bytes=PAGE_BYTES).commits


async def test_what_was_acknowledged_is_on_disk_at_once(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        for index in range(5):
            await journal.started(index, "digest", "call")
            state, _ = await contents(copy_files(path, path.parent / f"started {index}" / "copy"))
            assert index in state.unknown
            await journal.ended(index, answer(index))
            state, rows = await contents(copy_files(path, path.parent / f"ended {index}" / "copy"))
            assert index in state.delivered
            assert rows[-1].record == answer(index)


async def test_many_that_wait_at_once_share_a_few_commits(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        before = commits(path)
        await asyncio.gather(*(journal.ended(index, answer(index)) for index in range(500)))
        assert commits(path) - before <= 50
        assert len(journal.state().delivered) == 500


async def test_those_who_come_during_a_commit_go_into_the_next_together(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        before = commits(path)
        async with slow_disk(journal):
            waiting = asyncio.gather(*(journal.ended(index, answer(index)) for index in range(100)))
            await asyncio.sleep(0)
        await waiting
        assert commits(path) - before == 1


async def test_one_after_the_other_is_one_commit_each(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        before = commits(path)
        await deliver(journal, 1, 2, 3)
        assert commits(path) - before == 6


async def test_the_loop_goes_on_while_the_disk_is_slow(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        async with slow_disk(journal):
            ending = asyncio.ensure_future(journal.ended(1, answer(1)))
            for _ in range(3):
                await asyncio.sleep(0.001)
            assert not ending.done()
            assert not journal.state().delivered
        await ending
        assert list(journal.state().delivered) == [1]


async def test_a_caller_that_is_cancelled_takes_nothing_from_the_others_and_its_row_is_kept(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        async with slow_disk(journal):
            cancelled = asyncio.ensure_future(journal.ended(1, answer(1)))
            other = asyncio.ensure_future(journal.ended(2, answer(2)))
            await asyncio.sleep(0)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
        await other
        assert list(journal.state().delivered) == [1, 2]


async def test_the_log_is_folded_into_the_file_as_it_grows(path: Path) -> None:
    async with RunJournal.open(path, job=JobIdentity("f", "c", "d")) as journal:
        largest = 0
        for index in range(30):
            await journal.ended(index, answer(index, size=700_000))
            largest = max(largest, size_of(f"{path}-wal") or 0)
        assert largest < ledger.CHECKPOINT_BYTES + 2_000_000
        assert (size_of(str(path)) or 0) > 10_000_000
        assert [row.index async for row in journal.rows()] == list(range(30))


async def test_closing_puts_what_was_given_on_disk(path: Path) -> None:
    journal = await RunJournal.open(path, job=JOB)
    endings = [asyncio.ensure_future(journal.ended(index, answer(index))) for index in range(50)]
    await asyncio.sleep(0)
    await journal.aclose()
    await asyncio.gather(*endings)
    state, _ = await contents(path)
    assert len(state.delivered) == 50
