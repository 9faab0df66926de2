"""Opening, closing and forgetting to: what is left behind, who may read it, and what a reader of logs sees."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import stat
import threading
from pathlib import Path

import pytest

from symfonic_ray.journal import JournalLockedError, JournalState, RunJournal, StoredResult
from symfonic_ray.journal.files import create_private
from symfonic_ray.journal.state import Item, ItemState
from tests.journal.conftest import JOB, answer, contents, deliver, put_file, slow_disk

CANARY = "canary-5e1f"


def modes(folder: Path) -> dict[str, str]:
    return {entry.name: oct(stat.S_IMODE(entry.lstat().st_mode)) for entry in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
async def test_every_file_is_its_owner_s_alone_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        async with RunJournal.open(path, job=JOB) as journal:
            await deliver(journal, 1)
            assert modes(path.parent) == dict.fromkeys((path.name, f"{path.name}-wal", f"{path.name}-lock"), "0o600")
    finally:
        os.umask(before)
    assert modes(path.parent) == {path.name: "0o600"}


def test_a_file_is_made_for_its_owner_to_read_also_where_the_umask_takes_that_away(path: Path) -> None:
    before = os.umask(0o777)
    try:
        os.close(create_private(str(path)))
    finally:
        os.umask(before)
    assert modes(path.parent) == {path.name: "0o600"}


async def test_a_journal_that_others_may_read_is_closed_to_them_when_it_is_opened(path: Path) -> None:
    async with RunJournal.open(path, job=JOB):
        pass
    os.chmod(path, 0o644)
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        assert set(modes(path.parent).values()) == {"0o600"}


def journal_threads() -> set[threading.Thread]:
    """Threads that keep a journal; one of an earlier test may still be on its last line."""
    return {thread for thread in threading.enumerate() if thread.name == "symfonic-ray-journal"}


async def test_a_closed_journal_is_one_file_and_no_thread(path: Path) -> None:
    before = journal_threads()
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        (thread,) = journal_threads() - before
    thread.join(5)
    assert not thread.is_alive()
    assert os.listdir(path.parent) == [path.name]


async def test_a_refused_opening_leaves_no_thread(path: Path) -> None:
    async with RunJournal.open(path, job=JOB):
        before = journal_threads()
        with pytest.raises(JournalLockedError):
            await RunJournal.open(path, job=JOB)
        for thread in journal_threads() - before:
            thread.join(5)
            assert not thread.is_alive()


async def test_closing_twice_or_at_the_same_time_is_closing_once(path: Path) -> None:
    journal = await RunJournal.open(path, job=JOB)
    await asyncio.gather(journal.aclose(), journal.aclose())
    await journal.aclose()
    await contents(path)


async def test_every_close_waits_until_the_journal_is_free(path: Path) -> None:
    journal = await RunJournal.open(path, job=JOB)
    async with slow_disk(journal):
        first = asyncio.ensure_future(journal.aclose())
        await asyncio.sleep(0)
        second = asyncio.ensure_future(journal.aclose())
        await asyncio.sleep(0.01)
        assert not first.done()
        assert not second.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    await second
    await contents(path)


async def test_an_error_in_the_block_still_closes(path: Path) -> None:
    async def fail_in_the_block() -> None:
        async with RunJournal.open(path, job=JOB) as journal:
            await deliver(journal, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_in_the_block()
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_an_opening_that_is_cancelled_holds_nothing(path: Path) -> None:
    for ticks in range(4):
        opening = asyncio.ensure_future(_opened(path))
        for _ in range(ticks):
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await contents(path)


async def _opened(path: Path) -> RunJournal:
    return await RunJournal.open(path, job=JOB)


def drop(kept: list[RunJournal]) -> None:
    """Forget journals, and have them collected."""
    kept.clear()
    gc.collect()


async def test_a_journal_collected_open_warns_and_is_closed(path: Path) -> None:
    kept = [await RunJournal.open(path, job=JOB)]
    await deliver(kept[0], 1)
    writer = kept[0]._writer
    with pytest.warns(ResourceWarning, match="was left open; close it"):
        drop(kept)
    await writer.ended()
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_a_closed_journal_is_collected_in_silence(path: Path) -> None:
    journal = await RunJournal.open(path, job=JOB)
    await journal.aclose()
    del journal
    gc.collect()


def test_a_loop_that_ends_before_the_journal_is_closed_loses_nothing_acknowledged(path: Path) -> None:
    kept: list[RunJournal] = []

    async def leave_open() -> None:
        kept.append(await RunJournal.open(path, job=JOB))
        await deliver(kept[0], 1)

    asyncio.run(leave_open())
    thread = kept[0]._writer._thread
    with pytest.warns(ResourceWarning, match="was left open"):
        drop(kept)
    thread.join(5)
    state, _ = asyncio.run(contents(path))
    assert list(state.delivered) == [1]


async def test_reprs_and_logs_show_no_content(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.ended(1, {"outcome": "delivered", "message": CANARY})
        shown = [repr(journal), repr(journal.state())]
        shown += [repr(row) async for row in journal.rows()]
        shown.append(repr(Item(index=1, state=ItemState.DELIVERED, task_digest="", call_id="", record=CANARY.encode())))
    assert not [text for text in shown if CANARY in text]
    assert CANARY not in caplog.text
    assert "1 delivered, 0 failed, 0 unknown" in shown[0]


async def test_the_errors_show_no_content(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        for record in ({"outcome": "x", "message": CANARY}, {"outcome": "delivered", "message": {CANARY}}):
            with pytest.raises((TypeError, ValueError)) as caught:
                await journal.ended(1, record)
            assert CANARY not in str(caught.value)


async def test_a_state_and_a_result_cross_a_process(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        await journal.started(2, "digest", "call")
        state = journal.state()
        (row,) = [row async for row in journal.rows()]
    copy: JournalState = pickle.loads(pickle.dumps(state))
    assert (list(copy.delivered), list(copy.unknown)) == ([1], [2])
    again: StoredResult = pickle.loads(pickle.dumps(row))
    assert again == row
    assert again.record == answer(1)


async def test_a_name_with_marks_of_an_address_is_an_ordinary_name(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory&b#c %41 é.journal"
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
        assert journal.path == str(path)
    assert os.listdir(tmp_path) == [path.name]
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_a_path_is_meant_from_where_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with RunJournal.open("here.journal", job=JOB) as journal:
        monkeypatch.chdir("/")
        await deliver(journal, 1)
    assert os.listdir(tmp_path) == ["here.journal"]


async def test_what_a_killed_creation_left_is_no_hindrance(path: Path) -> None:
    for suffix in ("-new", "-new-wal"):
        put_file(f"{path}{suffix}", b"half of something")
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    assert os.listdir(path.parent) == [path.name]
