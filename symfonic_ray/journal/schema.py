"""The form of a journal on disk: marks, tables, seals, and the making of an empty one. Reads no item.

A seal is a keyed digest of a row under the journal's own random id. It finds flipped bits and rows of another
journal; it is no signature, since the id stands in the same file.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing
from dataclasses import astuple, dataclass
from hashlib import blake2b

from symfonic_ray.journal.errors import JournalDamagedError, JournalForeignError, JournalVersionError
from symfonic_ray.journal.files import JournalFiles, create_private, remove
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.state import Item

APPLICATION_ID = 0x53594D52  # "SYMR"
FORMAT = 1
PAGE_BYTES = 4096

TABLES = {
    "job": "CREATE TABLE job (one INTEGER PRIMARY KEY, journal_id BLOB, fleet TEXT, child TEXT, tasks_digest TEXT, "
    "total INTEGER, items INTEGER, clean INTEGER, seal BLOB)",
    "items": "CREATE TABLE items (position INTEGER PRIMARY KEY, state INTEGER, task_digest TEXT, call_id TEXT, "
    "record BLOB, seal BLOB)",
}

_MAGIC = b"SQLite format 3\0"
_FIXED = {  # offset: bytes that every journal has in its file header
    16: struct.pack(">H6B", PAGE_BYTES, 2, 2, 0, 64, 32, 32),  # page size, WAL for writers and readers, fixed fractions
    44: struct.pack(">I", 4),  # schema format
    56: struct.pack(">I", 1),  # UTF-8
}
_LENGTHS = struct.Struct(">QBIIq")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """The one row that says whose journal this is and how much is in it."""

    journal_id: bytes
    job: JobIdentity
    items: int
    """Rows of the table of items."""
    clean: bool
    """Whether the last owner closed the journal, so that all is in the file itself and no log is missed."""

    def values(self) -> tuple[object, ...]:
        """The row as sqlite keeps it, sealed."""
        facts = (*astuple(self.job), self.items, int(self.clean))
        seal = blake2b(repr(facts).encode(), key=self.journal_id, digest_size=16).digest()
        return (1, self.journal_id, *facts, seal)


def item_seal(journal_id: bytes, item: Item) -> bytes:
    """The seal of an item's row."""
    digest, call_id = item.task_digest.encode(), item.call_id.encode()
    size = -1 if item.record is None else len(item.record)
    seal = blake2b(
        _LENGTHS.pack(item.index, item.state, len(digest), len(call_id), size), key=journal_id, digest_size=16
    )
    seal.update(digest)
    seal.update(call_id)
    seal.update(item.record or b"")
    return seal.digest()


def create(files: JournalFiles, job: JobIdentity) -> None:
    """Make an empty journal. It gets its name only when it is whole on disk, so a journal is never half made.

    Raises:
        OSError: if the files cannot be made.
        sqlite3.Error: if sqlite cannot write them.
    """
    leftovers = (files.new, files.new + "-wal", files.new + "-shm")
    remove(*leftovers)
    descriptor = create_private(files.new)
    try:
        with closing(sqlite3.connect(files.new, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA encoding = 'UTF-8'")
            connection.execute("PRAGMA auto_vacuum = NONE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for table in TABLES.values():
                connection.execute(table)
            row = JobRow(journal_id=os.urandom(16), job=job, items=0, clean=True)
            connection.execute("INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row.values())
        os.fsync(descriptor)
        os.rename(files.new, files.path)
    finally:
        os.close(descriptor)
        remove(*leftovers)
    files.sync_folder()


def check_header(files: JournalFiles) -> None:
    """Look at the first bytes of the file, before sqlite does.

    Raises:
        JournalForeignError: if it is no journal.
        JournalVersionError: if it is one in another format.
        JournalDamagedError: if it is one, with a header that no journal has.
        OSError: if it cannot be read.
    """
    with open(files.path, "rb") as file:
        header = file.read(100)
    application_id, ours = header[68:72], struct.pack(">I", APPLICATION_ID)
    if not header:
        raise JournalForeignError(files.path, "is empty, which no journal ever is")
    if not header.startswith(_MAGIC) and application_id != ours:
        raise JournalForeignError(files.path, "holds no sqlite database")
    if len(header) == 100 and application_id != ours:
        raise JournalForeignError(
            files.path, f"is a database of another program (application id 0x{application_id.hex()})"
        )
    (version,) = struct.unpack(">I", header[60:64]) if len(header) == 100 else (FORMAT,)
    if version != FORMAT:
        raise JournalVersionError(files.path, version, FORMAT)
    for offset, expected in {0: _MAGIC, **_FIXED}.items():
        if header[offset : offset + len(expected)] != expected:
            raise JournalDamagedError(files.path, f"byte {offset}", "the file header is not one of a journal")
