"""What is no journal of this job is refused plainly, with what to do, and left as it was."""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from symfonic_ray.journal import (
    JobIdentity,
    JournalDamagedError,
    JournalError,
    JournalForeignError,
    JournalJobError,
    JournalPathError,
    JournalVersionError,
    RunJournal,
)
from tests.journal.conftest import JOB, answer, bytes_of, contents, copy_files, deliver, put_file


async def refusal(path: Path | str, job: JobIdentity = JOB) -> JournalError:
    """Why an opening is refused."""
    with pytest.raises(JournalError) as caught:
        async with RunJournal.open(path, job=job):
            pass
    return caught.value


def everything(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE wallet (coins)")
        database.execute("PRAGMA application_id = 77")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty, which no journal ever is"),
        (b'{"task": 1}\n' * 40, "holds no sqlite database"),
        (b"\x00" * 8192, "holds no sqlite database"),
        (b"SQLite format", "holds no sqlite database"),
    ],
    ids=["empty", "text", "zeros", "the beginning of a header"],
)
async def test_a_file_that_is_no_database_is_refused_and_kept(path: Path, content: bytes, words: str) -> None:
    put_file(path, content)
    error = await refusal(path)
    assert isinstance(error, JournalForeignError)
    assert words in str(error)
    assert everything(path.parent) == {path.name: content}


async def test_another_program_s_database_is_refused_and_kept(path: Path) -> None:
    foreign_database(path)
    before = everything(path.parent)
    error = await refusal(path)
    assert isinstance(error, JournalForeignError)
    assert "application id 0x0000004d" in str(error)
    assert everything(path.parent) == before


@pytest.mark.parametrize("version", [0, 2, 4_000_000_000])
async def test_another_format_is_refused_with_both_numbers(path: Path, version: int) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    content = bytes_of(path)
    content = content[:60] + struct.pack(">I", version) + content[64:]
    put_file(path, content)
    error = await refusal(path)
    assert isinstance(error, JournalVersionError)
    assert (error.found, error.known) == (version, 1)
    assert f"format {version}" in str(error)
    assert everything(path.parent) == {path.name: content}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (JobIdentity("papers", "critic", "5f2a"), "child is 'reader' there and 'critic' here"),
        (JobIdentity("papers", "reader", "77aa"), "tasks_digest is '5f2a' there and '77aa' here"),
        (JobIdentity("books", "reader", "5f2a"), "fleet is 'papers' there and 'books' here"),
        (JobIdentity("papers", "reader", "5f2a", 9), "total is 1000 there and 9 here"),
    ],
    ids=["child", "tasks", "fleet", "total"],
)
async def test_a_journal_of_another_job_is_refused_naming_what_differs(
    tmp_path: Path, asked: JobIdentity, words: str
) -> None:
    async with RunJournal.open(tmp_path / "live", job=JOB) as journal:
        await deliver(journal, 1)
        path = copy_files(tmp_path / "live", tmp_path / "killed" / "run.journal")
    before = everything(path.parent)
    error = await refusal(path, asked)
    assert isinstance(error, JournalJobError)
    assert words in str(error)
    assert everything(path.parent) == before
    state, _ = await contents(path)
    assert list(state.delivered) == [1]


async def test_a_job_of_unknown_total_goes_on_with_a_journal_that_knows_it(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    async with RunJournal.open(path, job=JobIdentity(JOB.fleet, JOB.child, JOB.tasks_digest)) as journal:
        assert list(journal.state().delivered) == [1]


@pytest.mark.parametrize(
    "kind", ["folder", "link", "broken link", "pipe", "no folder", "file as folder", "nothing", "nul"]
)
async def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path, kind: str) -> None:
    path: Path | str = tmp_path / "run.journal"
    (tmp_path / "other").write_bytes(b"kept")
    match kind:
        case "folder":
            os.mkdir(path)
        case "link":
            os.symlink(tmp_path / "other", path)
        case "broken link":
            os.symlink(tmp_path / "new", path)
        case "pipe":
            os.mkfifo(path)
        case "no folder":
            path = tmp_path / "none" / "run.journal"
        case "file as folder":
            path = tmp_path / "other" / "run.journal"
        case "nothing":
            path = ""
        case "nul":
            path = f"{tmp_path}/run\0journal"
    before = sorted(os.listdir(tmp_path))
    error = await refusal(path)
    assert isinstance(error, JournalPathError)
    assert error.problem in str(error)
    assert error.remedy in str(error)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-lock", "-new", "-new-wal"])
async def test_a_link_in_the_place_of_a_companion_file_is_refused_and_not_followed(path: Path, suffix: str) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    target = path.parent / "target"
    os.symlink(target, f"{path}{suffix}")
    error = await refusal(path)
    assert isinstance(error, JournalPathError)
    assert "is a link" in str(error)
    assert target.name not in os.listdir(path.parent)


@contextmanager
def folder_of_somebody_else() -> Iterator[Path]:
    """A folder in which this process may read and not write, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="journal-", dir="/tmp"))
    user = os.geteuid()
    os.chmod(folder, 0o555)
    if user == 0:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(user)
        os.chmod(folder, 0o755)
        for entry in folder.iterdir():
            entry.unlink()
        folder.rmdir()


async def test_a_folder_that_may_not_be_written_is_refused() -> None:
    with folder_of_somebody_else() as folder:
        error = await refusal(folder / "run.journal")
    assert isinstance(error, JournalPathError)
    assert "Permission denied" in str(error)
    assert "may read and write" in str(error)


async def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    error = await refusal(tmp_path / ("x" * 300))
    assert isinstance(error, JournalPathError)
    assert "too long" in str(error)


async def test_a_journal_without_its_log_is_refused_while_the_log_may_hold_results(tmp_path: Path) -> None:
    async with RunJournal.open(tmp_path / "live", job=JOB) as journal:
        await deliver(journal, 1)
        path = copy_files(tmp_path / "live", tmp_path / "copy" / "run.journal")
    os.unlink(f"{path}-wal")
    error = await refusal(path)
    assert isinstance(error, JournalDamagedError)
    assert "is missing, and results with it" in str(error)
    put_file(f"{path}-wal")  # what the error says to do when it cannot be brought back
    state, _ = await contents(path)
    assert list(state.delivered) == []


async def test_a_log_without_its_journal_is_refused_and_kept(tmp_path: Path) -> None:
    async with RunJournal.open(tmp_path / "live", job=JOB) as journal:
        await deliver(journal, 1)
        path = copy_files(tmp_path / "live", tmp_path / "copy" / "run.journal")
    os.unlink(path)
    before = everything(path.parent)
    error = await refusal(path)
    assert isinstance(error, JournalDamagedError)
    assert "its log" in str(error)
    assert everything(path.parent) == before


async def test_the_log_of_another_journal_of_the_same_job_is_refused_and_kept(tmp_path: Path) -> None:
    async with RunJournal.open(tmp_path / "a", job=JOB) as one, RunJournal.open(tmp_path / "b", job=JOB) as other:
        await deliver(one, *range(30))
        await deliver(other, 1, 2)
        path = copy_files(tmp_path / "a", tmp_path / "mixed" / "run.journal")
        put_file(f"{path}-wal", bytes_of(tmp_path / "b-wal"))
    before = everything(path.parent)
    error = await refusal(path)
    assert isinstance(error, JournalForeignError)
    assert "is the log of another journal" in str(error)
    assert everything(path.parent) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM items WHERE position = 2",
        "UPDATE items SET record = (SELECT record FROM items WHERE position = 1) WHERE position = 2",
        "UPDATE items SET state = 3 WHERE position = 2",
        "UPDATE items SET state = 9 WHERE position = 2",
        "UPDATE items SET call_id = 'other' WHERE position = 2",
        "UPDATE items SET position = 9 WHERE position = 2",
        "UPDATE items SET record = NULL WHERE position = 2",
        "INSERT INTO items SELECT 9, state, task_digest, call_id, record, seal FROM items WHERE position = 2",
        "UPDATE job SET child = 'critic'",
        "UPDATE job SET items = 1",
        "UPDATE job SET clean = 2",
        "UPDATE job SET journal_id = x'00'",
        "UPDATE job SET journal_id = NULL",
        "DELETE FROM job",
        "INSERT INTO job SELECT 2, journal_id, fleet, child, tasks_digest, total, items, clean, seal FROM job",
        "DROP TABLE items",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
    ],
)
async def test_a_row_or_table_that_was_changed_by_another_hand_is_found(path: Path, statement: str) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1, 2)
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    error = await refusal(path)
    assert isinstance(error, JournalDamagedError)
    assert error.place
    assert error.place in str(error)


async def test_a_damaged_row_is_told_by_the_number_of_its_item(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        for index in range(50):
            await journal.ended(index, answer(index))
    content = bytes_of(path)
    put_file(path, content.replace(b'"message":"37:xxx', b'"message":"37:xxy'))
    error = await refusal(path)
    assert isinstance(error, JournalDamagedError)
    assert error.place == "item 37"


async def test_text_that_is_spoiled_beyond_reading_is_told_by_its_place_and_not_repeated(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(4, "digest", "call-5e1f")
    put_file(path, bytes_of(path).replace(b"call-5e1f", b"\xffall-5e1f"))
    error = await refusal(path)
    assert isinstance(error, JournalDamagedError)
    assert error.place == "item 4"
    assert "all-5e1f" not in str(error)


async def test_a_refusal_that_somebody_keeps_does_not_keep_the_file(tmp_path: Path) -> None:
    async with RunJournal.open(tmp_path / "live", job=JOB) as journal:
        for index in range(50):
            await journal.ended(index, answer(index))
    async with RunJournal.open(tmp_path / "live", job=JOB) as journal:
        await deliver(journal, 60)
        path = copy_files(tmp_path / "live", tmp_path / "killed" / "run.journal")
    content = bytes_of(path)
    put_file(path, content.replace(b'"message":"7:xxx', b'"message":"7:xxy'))
    kept = await refusal(path)
    assert isinstance(kept, JournalDamagedError)
    assert kept.place == "item 7"
    put_file(path, content)
    state, _ = await contents(path)
    assert len(state.delivered) == 51
    assert kept.__traceback__ is not None


async def test_damage_that_comes_while_it_is_open_is_found_when_the_row_is_read(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1, 2)

        def spoil(ledger: object) -> None:
            ledger._connection.execute("UPDATE items SET record = x'7b7d' WHERE position = 2")  # type: ignore[attr-defined]

        await journal._writer.ask(spoil)  # white box: nothing public spoils a row
        rows = journal.rows()
        with pytest.raises(JournalDamagedError, match="item 2"):
            async for _ in rows:
                pass
