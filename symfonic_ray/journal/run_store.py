"""The runs of one user on one machine: a sqlite file that several commands write at once. Decides what is kept.

A run is a row when it begins and another write when it ends. The newest ``KEPT_RUNS`` stay. A file that is not ours,
is newer than we are, or is damaged is refused and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path

from symfonic_ray.journal.errors import RunStoreError
from symfonic_ray.journal.process_mark import process_mark
from symfonic_ray.journal.run_rows import HandOffRow, RunRow

APPLICATION_ID = 0x53595255  # "SYRU"
FORMAT = 1
KEPT_RUNS = 1000
BUSY_SECONDS = 5.0  # how long one command waits for another's write
STATE_VARIABLE = "SYMFONIC_RAY_STATE"

_RUN = tuple(field.name for field in fields(RunRow))
_HAND_OFF = tuple(field.name for field in fields(HandOffRow))
_TABLES = (
    f"CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(_RUN)}, UNIQUE (run_id))",
    f"CREATE TABLE hand_offs (number INTEGER PRIMARY KEY, run, {', '.join('h_' + name for name in _HAND_OFF)})",
    "CREATE INDEX hand_offs_of_run ON hand_offs (run)",
)
_HAND_OFF_COLUMNS = ", ".join("h_" + name for name in _HAND_OFF)


def state_file() -> Path:
    """Where runs are kept: ``runs.db`` in the folder ``$SYMFONIC_RAY_STATE``, else in ``~/.local/state``."""
    folder = os.environ.get(STATE_VARIABLE)
    return (Path(folder) if folder else Path.home() / ".local" / "state" / "symfonic-ray") / "runs.db"


class RunStore:
    """The store at one path; each call opens it, so nothing is held between calls.

    Args:
        path: of the file; made with its folder by the first write, for its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, run: RunRow) -> None:
        """Note a run that begins, and drop the oldest ones beyond ``KEPT_RUNS``.

        Raises:
            RunStoreError: if the store refuses or cannot be written.
        """
        self._make_file()
        with self._open() as connection:
            marks = ", ".join("?" * len(_RUN))
            connection.execute(f"INSERT INTO runs ({', '.join(_RUN)}) VALUES ({marks})", astuple(run))
            connection.execute(
                "DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?",
                (KEPT_RUNS,),
            )
            connection.execute("DELETE FROM hand_offs WHERE run NOT IN (SELECT run_id FROM runs)")

    def end(self, run: RunRow, hand_offs: Sequence[HandOffRow]) -> None:
        """Note how a run ended, with its hand-offs, all or nothing.

        Raises:
            RunStoreError: if the store refuses or cannot be written.
        """
        with self._open() as connection:
            sets = ", ".join(f"{name} = ?" for name in _RUN)
            found = connection.execute(f"UPDATE runs SET {sets} WHERE run_id = ?", (*astuple(run), run.run_id))
            if not found.rowcount:
                return  # so many runs began since that this one is no longer kept
            marks = ", ".join("?" * (len(_HAND_OFF) + 1))
            connection.executemany(
                f"INSERT INTO hand_offs (run, {_HAND_OFF_COLUMNS}) VALUES ({marks})",
                [(run.run_id, *astuple(row)) for row in hand_offs],
            )

    def runs(self) -> tuple[RunRow, ...]:
        """Every run, newest first; none where there is no store yet.

        Raises:
            RunStoreError: if the store refuses or cannot be read.
        """
        if not self.path.exists():
            return ()
        with self._open() as connection:
            rows = connection.execute(f"SELECT {', '.join(_RUN)} FROM runs ORDER BY number DESC").fetchall()
        return tuple(_as_found(RunRow(**dict(zip(_RUN, row, strict=True)))) for row in rows)

    def hand_offs(self, run_id: str) -> tuple[HandOffRow, ...]:
        """The hand-offs of a run, in the order in which they ended; ``run_id`` in full.

        Raises:
            RunStoreError: if the store refuses or cannot be read.
        """
        question = f"SELECT {_HAND_OFF_COLUMNS} FROM hand_offs WHERE run = ? ORDER BY number"
        with self._open() as connection:
            rows = connection.execute(question, (run_id,)).fetchall()
        return tuple(
            HandOffRow(**{**dict(zip(_HAND_OFF, row, strict=True)), "fresh": bool(row[_HAND_OFF.index("fresh")])})
            for row in rows
        )

    def _make_file(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self._refusal(error.strerror or "the file cannot be made") from None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The store in one transaction, checked first."""
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    self._check(connection)
                    yield connection
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise self._refusal(str(error)) from None

    def _check(self, connection: sqlite3.Connection) -> None:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application_id, version, tables) == (0, 0, 0):
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif application_id != APPLICATION_ID:
            raise self._refusal("it is a database of another program")
        elif version != FORMAT:
            raise self._refusal(f"it has format {version} and this version of symfonic-ray knows {FORMAT}")

    def _refusal(self, problem: str) -> RunStoreError:
        return RunStoreError(str(self.path), problem)


def _as_found(run: RunRow) -> RunRow:
    """A run that says it runs although its process is gone is lost."""
    if run.outcome != "running" or process_mark(run.pid) == run.pid_started:
        return run
    values = {field: getattr(run, field) for field in _RUN}
    return RunRow(**{**values, "outcome": "lost", "message": f"process {run.pid} ended without saying how"})
