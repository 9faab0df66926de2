"""A journal open for writing: what a commit is, and what becomes of a file when one fails. Belongs to one thread."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from symfonic_ray.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalFullError,
    JournalLockedError,
    JournalPathError,
    JournalWriteError,
)
from symfonic_ray.journal.files import JournalFiles, create_private, size_of
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.index_set import IndexSet
from symfonic_ray.journal.lock import JournalLock
from symfonic_ray.journal.reading import ITEM_COLUMNS, checked_items, connect, read_journal
from symfonic_ray.journal.schema import PAGE_BYTES, JobRow, create, item_seal
from symfonic_ray.journal.state import Item, ItemState, Progress, StoredResult
from symfonic_ray.journal.wal import read_wal

CHECKPOINT_BYTES = 8 << 20  # of the log; below 4 MiB the syncs show, far above it the log is slow to read at open
RESULTS_AT_ONCE = 256
RESULT_BYTES_AT_ONCE = 1 << 20
_GIVE_ANOTHER_PATH = "give a path where you may read and write"


class Ledger:
    """One open journal. Use it from the thread that made it.

    Args:
        files: where it is; made if it is not there.
        job: whose it must be.
    Raises:
        JournalError: if it cannot be opened; then nothing was changed but what a torn end left behind.
    """

    def __init__(self, files: JournalFiles, job: JobIdentity) -> None:
        self._files = files
        self._broken: JournalError | None = None
        self._row: JobRow
        self._known: IndexSet
        try:
            files.check()
            self._lock = JournalLock(files)
        except OSError as error:
            raise _from_system(files, error) from error
        try:
            self._open(job)
        except OSError as error:
            self._lock.release()
            raise _from_system(files, error) from error
        except sqlite3.Error as error:
            self._lock.release()
            raise _from_sqlite(files, error) from error
        except BaseException:
            self._lock.release()
            raise

    @property
    def progress(self) -> Progress:
        """Where the items stood at opening. From then on it is the caller's, who says what became of each item."""
        return self._progress

    def commit(self, items: Sequence[Item]) -> None:
        """Put items on disk, all or none; of several words on one item the last counts.

        Raises:
            JournalFullError: if there is no room; a later commit may succeed.
            JournalWriteError: for any other fault of the disk; the journal takes nothing more.
        """
        if self._broken is not None:
            raise type(self._broken)(*self._broken.args)
        last = {item.index: item for item in items}
        row = replace(self._row, items=self._row.items + sum(index not in self._known for index in last))
        try:
            self._transaction(row, last)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error
        self._row = row
        self._known |= last.keys()
        if (size_of(self._files.wal) or 0) >= CHECKPOINT_BYTES:
            self._checkpoint()

    def results(self, after: int) -> list[StoredResult]:
        """The next results in the order of their index, at most 256 or about 1 MiB; empty when there are no more.

        Args:
            after: the last index already read; -1 to begin.
        Raises:
            JournalDamagedError: at a row that is not as it was written.
        """
        rows = self._connection.execute(
            f"SELECT {ITEM_COLUMNS} FROM items WHERE position > ? AND state != ? ORDER BY position",
            (after, int(ItemState.STARTED)),
        )
        found: list[StoredResult] = []
        size = 0
        try:
            for item in checked_items(self._files, self._row, rows):
                record = item.record or b"{}"
                found.append(
                    StoredResult(
                        index=item.index,
                        task_digest=item.task_digest,
                        call_id=item.call_id,
                        record=json.loads(record),
                    )
                )
                size += len(record)
                if len(found) >= RESULTS_AT_ONCE or size >= RESULT_BYTES_AT_ONCE:
                    break
        except sqlite3.Error as error:
            raise _from_sqlite(self._files, error) from error
        finally:
            rows.close()
        return found

    def close(self) -> None:
        """Bring everything into the one file and let go of it. What was committed is on disk whether this succeeds."""
        try:
            with suppress(sqlite3.Error, OSError):
                if self._broken is None:
                    self._transaction(replace(self._row, clean=True), {})
                    self._row = replace(self._row, clean=True)
            self._shut()
        finally:
            self._lock.release()

    def _open(self, job: JobIdentity) -> None:
        files = self._files
        if size_of(files.path) is None:
            if size_of(files.wal):
                raise JournalDamagedError(
                    files.path, repr(files.path), f"it is missing, and its log {files.wal!r} is there"
                )
            create(files, job)
        contents = read_journal(files, job)
        if contents.whole_wal_bytes is not None:
            # sqlite would write over a torn end, and what it leaves of it would look like damage next time
            os.truncate(files.wal, contents.whole_wal_bytes)
        files.keep_private()
        self._row, self._progress = contents.row, contents.progress
        self._known = contents.progress.indexes()
        self._connection = connect(files, "mode=rw")
        try:
            for pragma in (
                "locking_mode = EXCLUSIVE",  # before the first read: then no index file is shared, or needed
                "synchronous = FULL",
                "wal_autocheckpoint = 0",
                "cache_spill = OFF",  # so that the log holds whole transactions in their order
                "temp_store = MEMORY",
                "trusted_schema = OFF",
            ):
                self._connection.execute(f"PRAGMA {pragma}").fetchall()
            self._transaction(replace(self._row, clean=False), {})
            self._row = replace(self._row, clean=False)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except BaseException:
            self._shut()
            raise

    def _transaction(self, row: JobRow, items: dict[int, Item]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(
                "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (
                        item.index,
                        int(item.state),
                        item.task_digest,
                        item.call_id,
                        item.record,
                        item_seal(self._row.journal_id, item),
                    )
                    for item in items.values()
                ),
            )
            connection.execute("REPLACE INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row.values())
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _failed(self, error: sqlite3.Error | OSError) -> JournalError:
        """What a failed commit is called; leaves the log without what the commit had written of itself."""
        said = (
            _from_sqlite(self._files, error) if isinstance(error, sqlite3.Error) else _from_system(self._files, error)
        )
        try:
            whole_bytes = read_wal(self._files, page_bytes=PAGE_BYTES).whole_bytes
            os.truncate(self._files.wal, whole_bytes)
        except (JournalError, OSError):
            self._broken = said
        if not isinstance(said, JournalFullError):
            self._broken = said  # after a failed sync nobody knows what the disk holds: only a new open reads it
        return said

    def _checkpoint(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:  # the rows are safe in the log, whatever became of the copy
            if not isinstance(said := _from_sqlite(self._files, error), JournalFullError):
                self._broken = said

    def _shut(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        if not self._row.clean and size_of(self._files.wal) is None:
            with suppress(OSError):
                os.close(create_private(self._files.wal))  # its absence would say that results were lost


def _from_sqlite(files: JournalFiles, error: sqlite3.Error) -> JournalError:
    error_code = getattr(error, "sqlite_errorcode", 0)
    code = error_code & 0xFF  # the low byte is the kind, the rest its detail
    if code == sqlite3.SQLITE_FULL or error_code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return JournalFullError(files.path, "the disk is full")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalLockedError(files.path, None)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return JournalDamagedError(files.path, "a page", f"sqlite says: {error}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
        return JournalPathError(files.path, f"sqlite says: {error}", _GIVE_ANOTHER_PATH)
    return JournalWriteError(files.path, f"sqlite says: {error}")


def _from_system(files: JournalFiles, error: OSError) -> JournalError:
    words = error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return JournalFullError(files.path, words)
    return JournalPathError(files.path, words, _GIVE_ANOTHER_PATH)
