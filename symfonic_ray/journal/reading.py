"""Whether a journal may be trusted, and what is in it. Read-only: a journal that is refused was not changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from urllib.parse import quote

from symfonic_ray.delegation import shown
from symfonic_ray.journal.errors import JournalDamagedError, JournalForeignError, JournalJobError
from symfonic_ray.journal.files import JournalFiles, remove, size_of
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.schema import PAGE_BYTES, TABLES, JobRow, check_header, item_seal
from symfonic_ray.journal.state import Item, ItemState, Progress
from symfonic_ray.journal.wal import read_wal

JOB_COLUMNS = "one, journal_id, fleet, child, tasks_digest, total, items, clean, seal"
ITEM_COLUMNS = "position, state, task_digest, call_id, record, seal"
_DAMAGE = (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_DAMAGED_READS = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A journal that was read and found whole."""

    row: JobRow
    progress: Progress
    whole_wal_bytes: int | None
    """How much of the log counts; None where there is no log."""


def read_journal(files: JournalFiles, job: JobIdentity) -> Contents:
    """Read everything and check every row.

    Raises:
        JournalError: foreign, of another version or job, or damaged (with the place).
        OSError: if a file cannot be read.
        sqlite3.Error: if sqlite cannot read for a reason that is not in the file, such as another program's lock.
    """
    check_header(files)
    wal_bytes = size_of(files.wal)
    whole_wal_bytes = None if wal_bytes is None else read_wal(files, page_bytes=PAGE_BYTES).whole_bytes
    # A log with nothing in it is left out altogether: a reader would create one and leave it behind.
    mode = "mode=ro" if whole_wal_bytes else "immutable=1"
    try:
        with closing(connect(files, mode)) as connection:
            _check_form(files, connection)
            row = _job_row(files, connection)
            if not row.clean and wal_bytes is None:
                raise JournalDamagedError(
                    files.path,
                    repr(files.wal),
                    "that file is missing, and results with it",
                    "bring it back, or create it empty to go on with what the journal itself holds",
                )
            if whole_wal_bytes:
                _check_log_belongs(files, row)
            progress = Progress()
            # closed by hand: an open cursor, kept by an error's traceback, would keep the file locked
            with closing(connection.execute(f"SELECT {ITEM_COLUMNS} FROM items")) as rows:
                for item in checked_items(files, row, rows):
                    progress.apply(item)
            found = len(progress.indexes())
            if found != row.items:
                raise JournalDamagedError(files.path, "the table of items", f"{found} are left of {row.items}")
    except (sqlite3.Error, UnicodeError) as error:  # sqlite3 cannot decode what sqlite says of a spoiled name
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF not in _DAMAGE and code not in _DAMAGED_READS:
            raise
        raise JournalDamagedError(files.path, "a page or a table", f"sqlite says: {error}") from error
    finally:
        remove(files.shm)
    differences = row.job.differences(job)
    if differences:
        raise JournalJobError(files.path, differences)
    return Contents(row=row, progress=progress, whole_wal_bytes=whole_wal_bytes)


def connect(files: JournalFiles, mode: str) -> sqlite3.Connection:
    """A connection to the file that must be there, with every transaction begun by hand.

    Args:
        files: the journal.
        mode: an option of sqlite's file addresses, such as ``mode=rw``.
    """
    connection = sqlite3.connect(f"file:{quote(files.path)}?{mode}", uri=True, isolation_level=None, timeout=0)
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")  # sqlite3's own decoder puts what it cannot read into the error's words


def checked_items(files: JournalFiles, row: JobRow, rows: Iterable[tuple[object, ...]]) -> Iterable[Item]:
    """Items from their rows, in the order of the rows.

    Raises:
        JournalDamagedError: at the first row whose seal is not its own; names the item.
    """
    for position, state, task_digest, call_id, record, seal in rows:
        if (
            type(position) is int
            and state in _STATES
            and type(task_digest) is str
            and type(call_id) is str
            and (type(record) is bytes or record is None)
        ):
            item = Item(index=position, state=_STATES[state], task_digest=task_digest, call_id=call_id, record=record)
            if item_seal(row.journal_id, item) == seal:
                yield item
                continue
        raise JournalDamagedError(files.path, f"item {shown(position)}", "its row is not the one that was written")


_STATES: dict[object, ItemState] = {int(state): state for state in ItemState}


def _check_form(files: JournalFiles, connection: sqlite3.Connection) -> None:
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema"))
    if tables != TABLES:
        raise JournalDamagedError(files.path, "the list of tables", "it is not the one of a journal")
    ((verdict,), *_) = connection.execute("PRAGMA quick_check(1)")
    if verdict != "ok":
        raise JournalDamagedError(
            files.path, " ".join(verdict.rpartition("***")[2].split()), "the pages do not fit together"
        )


def _job_row(files: JournalFiles, connection: sqlite3.Connection) -> JobRow:
    rows = connection.execute(f"SELECT {JOB_COLUMNS} FROM job").fetchall()
    try:
        ((one, journal_id, fleet, child, tasks_digest, total, items, clean, seal),) = rows
        row = JobRow(
            journal_id=journal_id,
            job=JobIdentity(fleet, child, tasks_digest, total),
            items=items,
            clean=bool(clean),
        )
        if row.values() == (one, journal_id, fleet, child, tasks_digest, total, items, clean, seal):
            return row
    except (TypeError, ValueError):
        pass
    raise JournalDamagedError(files.path, "the row of the job", "it is not the one that was written")


def _check_log_belongs(files: JournalFiles, row: JobRow) -> None:
    """Compare the journal with its log left out: a log of another journal would replace it page by page."""
    with (
        suppress(sqlite3.Error, UnicodeError, JournalDamagedError),
        closing(connect(files, "immutable=1")) as connection,
    ):
        if _job_row(files, connection).journal_id == row.journal_id:
            return
        raise JournalForeignError(files.wal, "is the log of another journal than the one beside it")
