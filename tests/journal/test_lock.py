"""A journal has one owner at a time, and a second one is told who that is."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from symfonic_ray.journal import JournalLockedError, RunJournal
from symfonic_ray.journal.files import JournalFiles
from symfonic_ray.journal.lock import JournalLock
from tests.journal.conftest import JOB, contents, deliver, put_file

ROOT = Path(__file__).resolve().parents[2]

OWNER = """
import asyncio, sys
from symfonic_ray.journal import RunJournal
from tests.journal.conftest import JOB, deliver
async def own():
    async with RunJournal.open(sys.argv[1], job=JOB) as journal:
        await deliver(journal, 1)
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(own())
"""


async def test_a_second_process_is_refused_with_the_other_s_pid(path: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(path), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert owner.stdout is not None
        assert await asyncio.wait_for(owner.stdout.readline(), 30) == b"open\n"
        with pytest.raises(JournalLockedError, match=f"open in process {owner.pid};") as caught:
            await RunJournal.open(path, job=JOB)
        assert caught.value.pid == owner.pid
    finally:
        owner.kill()
        await owner.wait()
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_a_second_owner_in_the_same_process_is_refused_too_and_harms_nothing(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        with pytest.raises(JournalLockedError, match=str(os.getpid())):
            await RunJournal.open(path, job=JOB)
        await deliver(journal, 2)
    state, _ = await contents(path)
    assert list(state.delivered) == [1, 2]


async def test_another_program_cannot_change_an_open_journal(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        with (
            closing(sqlite3.connect(path, timeout=0)) as database,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            database.execute("DELETE FROM items")
        await deliver(journal, 2)


async def test_a_journal_that_another_program_holds_is_refused(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalLockedError, match="another process"):
            await RunJournal.open(path, job=JOB)
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_a_lock_file_left_by_a_dead_process_holds_nobody_up(path: Path) -> None:
    put_file(f"{path}-lock", b"1")
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    assert os.listdir(path.parent) == [path.name]


def test_an_owner_that_does_not_tell_its_pid_is_another_process(path: Path) -> None:
    lock = JournalLock(JournalFiles.at(path))
    os.truncate(f"{path}-lock", 0)
    with pytest.raises(JournalLockedError, match="another process"):
        JournalLock(JournalFiles.at(path))
    lock.release()


def test_a_lock_is_given_up_once_and_can_be_taken_again(path: Path) -> None:
    files = JournalFiles.at(path)
    first = JournalLock(files)
    first.release()
    second = JournalLock(files)
    first.release()
    with pytest.raises(JournalLockedError):
        JournalLock(files)
    second.release()
    assert os.listdir(path.parent) == []


def test_a_lock_file_removed_by_its_last_holder_just_before_it_is_locked_is_not_taken_for_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = JournalFiles.at(path)
    take = fcntl.flock

    def remove_then_take(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", take)
        os.unlink(files.lock)
        take(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_then_take)
    lock = JournalLock(files)
    with pytest.raises(JournalLockedError):
        JournalLock(files)
    lock.release()
