"""What runs leave on disk, in sqlite: a bulk run's journal, so that nothing runs twice, and the store of past runs."""

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
    RunStoreError,
)
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.index_set import IndexSet
from symfonic_ray.journal.journal import OpeningJournal, RunJournal
from symfonic_ray.journal.run_recorder import RunRecorder
from symfonic_ray.journal.run_rows import HandOffRow, RunRow
from symfonic_ray.journal.run_store import RunStore, state_file
from symfonic_ray.journal.state import JournalState, StoredResult

__all__ = [
    "AlreadyDeliveredError",
    "HandOffRow",
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
    "RunRecorder",
    "RunRow",
    "RunStore",
    "RunStoreError",
    "StoredResult",
    "state_file",
]
