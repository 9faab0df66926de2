"""Cut off or flipped anywhere, a journal opens with what was whole or is refused. It is never wrong."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symfonic_ray.journal import JournalDamagedError, JournalError, RunJournal, ledger
from symfonic_ray.journal.files import JournalFiles, size_of
from symfonic_ray.journal.reading import connect
from symfonic_ray.journal.schema import PAGE_BYTES
from symfonic_ray.journal.wal import FRAME_HEADER_BYTES, HEADER_BYTES, read_wal
from tests.journal.conftest import JOB, answer, contents, failure, killed_journal

Held = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[int, str], ...]]
FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES


@dataclass(frozen=True)
class Files:
    """The bytes of a small journal, and what it held after each commit."""

    main: bytes
    wal: bytes
    held: tuple[Held, ...]
    """By the number of transactions in the log; the first is what the file alone holds."""


def held_by(state: Any, rows: list[Any]) -> Held:
    return (
        tuple(state.delivered),
        tuple(state.failed),
        tuple(state.unknown),
        tuple((row.index, row.record["message"]) for row in rows),
    )


async def a_little_work(journal: RunJournal, held: list[Held]) -> None:
    async def note() -> None:
        held.append(held_by(journal.state(), [row async for row in journal.rows()]))

    await note()
    for index in range(3):
        await journal.started(index, f"digest {index}", f"call {index}")
        await note()
        await journal.ended(
            index, answer(index, size=6000) if index == 1 else failure() if index == 2 else answer(index)
        )
        await note()
    await journal.started(3, "digest 3", "call 3")
    await note()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A journal that was opened, filled, closed, opened again and killed: some is in the file, some in the log."""
    folder = tmp_path_factory.mktemp("killed")

    async def first_run() -> None:
        async with RunJournal.open(folder / "live.journal", job=JOB) as journal:
            for index in range(100, 130):
                await journal.ended(index, answer(index, size=400))

    asyncio.run(first_run())
    held: list[Held] = []
    path = killed_journal(folder, lambda journal: a_little_work(journal, held))
    return Files(path.read_bytes(), Path(f"{path}-wal").read_bytes(), tuple(held))


def opened(folder: Path, main: bytes, wal: bytes | None) -> Held | JournalError:
    """What a journal of these bytes holds, or why it is refused; a refused one must be left as it was."""
    path = folder / "run.journal"
    path.write_bytes(main)
    log = Path(f"{path}-wal")
    log.unlink(missing_ok=True)
    if wal is not None:
        log.write_bytes(wal)
    try:
        found = held_by(*asyncio.run(contents(path)))
    except JournalError as error:
        assert path.read_bytes() == main
        assert (log.read_bytes() if log.exists() else None) == wal
        assert sorted(entry.name for entry in folder.iterdir()) in (
            ["run.journal"],
            ["run.journal", "run.journal-wal"],
        )
        return error
    assert held_by(*asyncio.run(contents(path))) == found, "the second opening finds what the first one found"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("opened")


def test_the_small_journal_is_in_both_files_and_opens_as_it_was_left(killed: Files, folder: Path) -> None:
    assert len(killed.wal) > 14 * FRAME_BYTES
    assert len(set(killed.held)) == len(killed.held) == 8
    assert opened(folder, killed.main, killed.wal) == killed.held[-1]
    assert opened(folder, killed.main, b"") == killed.held[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_cut_at_any_byte_keeps_every_transaction_before_the_cut(
    killed: Files, ends: tuple[int, ...], folder: Path, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(killed.wal)) | near_frames(len(killed.wal)))
    whole = sum(end <= cut for end in ends)
    assert opened(folder, killed.main, killed.wal[:cut]) == killed.held[whole]


def near_frames(size: int) -> st.SearchStrategy[int]:
    """Places at and beside the borders of frames, where a reader is most likely to be wrong."""
    borders = range(HEADER_BYTES, size + 1, FRAME_BYTES)
    return st.builds(
        lambda at, by: min(max(at + by, 0), size), st.sampled_from(borders), st.sampled_from((-1, 0, 1, 8, 13, 24))
    )


@pytest.fixture(scope="module")
def ends(killed: Files, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, ...]:
    """Where the log's transactions end: where a log that ends there is read to its last byte."""
    files = JournalFiles.at(tmp_path_factory.mktemp("measured") / "run.journal")
    found = []
    for end in range(HEADER_BYTES + FRAME_BYTES, len(killed.wal) + 1, FRAME_BYTES):
        Path(files.wal).write_bytes(killed.wal[:end])
        if read_wal(files, page_bytes=PAGE_BYTES).whole_bytes == end:
            found.append(end)
    return tuple(found)


def test_a_log_is_read_alike_wherever_between_two_transactions_it_is_cut(
    killed: Files, ends: tuple[int, ...], tmp_path: Path
) -> None:
    assert len(ends) == len(killed.held) - 1
    files = JournalFiles.at(tmp_path / "cut")
    for cut in range(ends[0] - 40, ends[1] + 40, 13):
        Path(files.wal).write_bytes(killed.wal[:cut])
        reading = read_wal(files, page_bytes=PAGE_BYTES)
        assert reading.commits == sum(end <= cut for end in ends)
        assert reading.whole_bytes == max((end for end in ends if end <= cut), default=0)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_file_cut_at_any_byte_is_refused_or_whole(killed: Files, folder: Path, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(killed.main) - 1))
    log = data.draw(st.sampled_from([killed.wal, b""]))
    found = opened(folder, killed.main[:cut], log)
    assert isinstance(found, JournalError) or found == killed.held[-1 if log else 0]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_bit_flipped_anywhere_in_the_log_is_refused_with_its_place(
    killed: Files, folder: Path, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(killed.wal) - 1) | near_frames(len(killed.wal) - 1))
    error = opened(folder, killed.main, flipped(killed.wal, at, data.draw(st.integers(0, 7))))
    assert isinstance(error, JournalDamagedError)
    frame = max(0, (at - HEADER_BYTES) // FRAME_BYTES * FRAME_BYTES + HEADER_BYTES) if at >= HEADER_BYTES else 0
    assert error.place in (f"byte {frame} of {str(folder / 'run.journal-wal')!r}",)


def test_every_byte_of_the_log_s_own_headers_is_watched(killed: Files, tmp_path: Path) -> None:
    files = JournalFiles.at(tmp_path / "run.journal")
    last = len(killed.wal) - FRAME_BYTES
    for at in (*range(HEADER_BYTES + FRAME_HEADER_BYTES), *range(last, last + FRAME_HEADER_BYTES)):
        Path(files.wal).write_bytes(flipped(killed.wal, at, 4))
        with pytest.raises(JournalDamagedError):
            read_wal(files, page_bytes=PAGE_BYTES)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_bit_flipped_anywhere_in_the_file_is_refused_or_makes_no_difference(
    killed: Files, folder: Path, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(killed.main) - 1) | st.integers(0, 200))
    log = data.draw(st.sampled_from([killed.wal, b""]))
    found = opened(folder, flipped(killed.main, at, data.draw(st.integers(0, 7))), log)
    assert isinstance(found, JournalError) or found == killed.held[-1 if log else 0]


def test_most_bits_of_a_file_are_watched(killed: Files, folder: Path) -> None:
    used = [at for at in range(0, len(killed.main), 61) if killed.main[at]]
    refused = [isinstance(opened(folder, flipped(killed.main, at, 3), b""), JournalError) for at in used]
    assert sum(refused) >= 0.9 * len(used)  # the rest are fields that sqlite keeps and nobody reads


def flipped(content: bytes, at: int, bit: int) -> bytes:
    spoiled = bytearray(content)
    spoiled[at] ^= 1 << bit
    return bytes(spoiled)


def test_zeros_that_were_reserved_and_never_written_are_a_torn_end(killed: Files, folder: Path) -> None:
    assert opened(folder, killed.main, killed.wal + bytes(2 * FRAME_BYTES + 7)) == killed.held[-1]
    assert opened(folder, killed.main, bytes(3 * FRAME_BYTES)) == killed.held[0]


def test_zeros_in_the_middle_are_damage(killed: Files, folder: Path) -> None:
    middle = HEADER_BYTES + 3 * FRAME_BYTES
    spoiled = killed.wal[:middle] + bytes(FRAME_BYTES) + killed.wal[middle + FRAME_BYTES :]
    error = opened(folder, killed.main, spoiled)
    assert isinstance(error, JournalDamagedError)
    assert f"byte {middle} of" in error.place


def test_the_remedy_for_a_damaged_log_keeps_what_stands_before_the_damage(
    killed: Files, ends: tuple[int, ...], folder: Path
) -> None:
    error = opened(folder, killed.main, flipped(killed.wal, ends[2] + 30, 0))
    assert isinstance(error, JournalDamagedError)
    assert f"its first {ends[2]} bytes" in error.remedy
    assert opened(folder, killed.main, killed.wal[: ends[2]]) == killed.held[3]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.binary(min_size=1, max_size=100))
@example(1, b"x")
def test_bytes_of_another_hand_after_the_log_s_end_are_never_taken_for_items(
    killed: Files, folder: Path, copies: int, tail: bytes
) -> None:
    found = opened(
        folder, killed.main, killed.wal + killed.wal[HEADER_BYTES : HEADER_BYTES + FRAME_BYTES] * copies + tail
    )
    assert isinstance(found, JournalDamagedError)


def test_a_torn_end_is_cut_off_before_sqlite_writes_over_it(
    killed: Files, ends: tuple[int, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def connect_and_look(files: JournalFiles, mode: str) -> sqlite3.Connection:
        seen.append(size_of(files.wal))
        return connect(files, mode)

    monkeypatch.setattr(ledger, "connect", connect_and_look)  # the writing connection alone
    opened(folder, killed.main, killed.wal[: ends[-1] - FRAME_BYTES])
    assert seen[0] == ends[-2] < ends[-1] - FRAME_BYTES


def test_work_goes_on_after_a_torn_end(killed: Files, folder: Path) -> None:
    path = folder / "run.journal"
    opened(folder, killed.main, killed.wal[: -FRAME_BYTES // 2])

    async def go_on() -> None:
        async with RunJournal.open(path, job=JOB) as journal:
            await journal.ended(3, answer(3))
        state, rows = await contents(path)
        assert 3 in state.delivered
        assert rows[3].record == answer(3)

    asyncio.run(go_on())
