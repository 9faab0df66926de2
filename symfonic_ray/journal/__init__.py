"""What a bulk run leaves on disk, so that it goes on after ``kill -9`` and runs nothing twice. sqlite, one file."""

from symfonic_ray.journal.errors import (
    AlreadyDeliveredError,
    JournalClosedError,
    JournalDamagedError,
    JournalError,
    JournalForeignError,
    JournalFullError,
    JournalJobError,
    JournalLockedError,
    JournalPathError,
    JournalVersionError,
    JournalWriteError,
)
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.index_set import IndexSet
from symfonic_ray.journal.journal import OpeningJournal, RunJournal
from symfonic_ray.journal.state import JournalState, StoredResult

__all__ = [
    "AlreadyDeliveredError",
    "IndexSet",
    "JobIdentity",
    "JournalClosedError",
    "JournalDamagedError",
    "JournalError",
    "JournalForeignError",
    "JournalFullError",
    "JournalJobError",
    "JournalLockedError",
    "JournalPathError",
    "JournalState",
    "JournalVersionError",
    "JournalWriteError",
    "OpeningJournal",
    "RunJournal",
    "StoredResult",
]
