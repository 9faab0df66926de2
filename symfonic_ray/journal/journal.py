"""The journal of one run, for asyncio: what was started, what ended, and what is on disk. Does no work of its own.

Everything that waits for the disk happens in the writer's thread; here stands only where each item is.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import AsyncIterator, Generator, Mapping
from functools import partial
from typing import Any

from symfonic_ray.delegation import DelegationOutcome, shown
from symfonic_ray.journal.errors import AlreadyDeliveredError, JournalClosedError
from symfonic_ray.journal.files import JournalFiles
from symfonic_ray.journal.identity import JobIdentity
from symfonic_ray.journal.ledger import Ledger
from symfonic_ray.journal.state import Item, ItemState, JournalState, Progress, StoredResult
from symfonic_ray.journal.writer import Writer

LARGEST_INDEX = 2**63 - 1  # what sqlite can number


class RunJournal:
    """An open journal. Belongs to the event loop that opened it; made by ``RunJournal.open``."""

    def __init__(self, files: JournalFiles, job: JobIdentity, writer: Writer, progress: Progress) -> None:
        self._files = files
        self._job = job
        self._writer = writer
        self._progress = progress
        self._closing = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, job: JobIdentity) -> OpeningJournal:
        """Open the journal at ``path``, or start it where there is none.

        Args:
            path: its file, in a folder that exists. ``-wal`` and ``-lock`` files stand beside it while it is open;
                copy or move it only when it is closed.
            job: whose run it is; a journal of another job is refused.
        Returns:
            What gives the journal: ``async with RunJournal.open(...) as journal``, or ``await``.
        Raises:
            JournalError: on entering, if it cannot be used. A journal that is refused was not changed.
        """
        return OpeningJournal(path, job)

    @property
    def path(self) -> str:
        """The journal's file, absolute."""
        return self._files.path

    @property
    def job(self) -> JobIdentity:
        """Whose run it is, as given at opening."""
        return self._job

    def __repr__(self) -> str:
        return f"<RunJournal {self.path!r}: {self.state()!r}{', closed' if self._closing else ''}>"

    def state(self) -> JournalState:
        """Where the items stand on disk at this moment, as a copy. Also after the close."""
        return self._progress.snapshot()

    async def started(self, index: int, task_digest: str, call_id: str) -> None:
        """Note that an item is about to start; once this returns, that is on disk.

        Start the item only then: one that had its effect and is not in the journal would be run again.

        Args:
            index: the item's place among the tasks, from 0.
            task_digest: a digest of its task; the text itself has no place here.
            call_id: what the hand-off is known by.
        Raises:
            AlreadyDeliveredError: if it was delivered.
            JournalWriteError: if it could not be put on disk (JournalFullError: for want of room).
            JournalClosedError: after the close.
            ValueError: for an index that the job cannot have, or text with a lone surrogate.
        """
        task_digest.encode()
        call_id.encode()
        await self._put(Item(index=index, state=ItemState.STARTED, task_digest=task_digest, call_id=call_id))

    async def ended(self, index: int, record: Mapping[str, Any]) -> None:
        """Keep the record of an item; once this returns, it is on disk.

        Args:
            index: the item's place among the tasks, from 0; it need not have started (a refusal).
            record: plain JSON data with an ``outcome``, as ``DelegationRecord.as_dict`` gives it. It is read before
                this waits.
        Raises:
            AlreadyDeliveredError: if it was delivered; of an item that failed the last record is kept.
            JournalWriteError: if it could not be put on disk (JournalFullError: for want of room); the caller still
                has the record, and may give it again.
            JournalClosedError: after the close.
            KeyError, TypeError, ValueError: for a record that has no known outcome or is no JSON data, or an index
                that the job cannot have.
        """
        delivered = DelegationOutcome(record["outcome"]).delivered
        written = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
        task_digest, call_id = self._progress.begun(index)
        await self._put(
            Item(
                index=index,
                state=ItemState.DELIVERED if delivered else ItemState.FAILED,
                task_digest=task_digest,
                call_id=call_id,
                record=written,
            )
        )

    async def rows(self) -> AsyncIterator[StoredResult]:
        """Every result on disk, in the order of its index, a few at a time.

        Raises:
            JournalDamagedError: at a row that is not as it was written.
            JournalClosedError: after the close.
        """
        after = -1
        while True:
            self._check_open()
            found = await self._writer.ask(partial(Ledger.results, after=after))
            if not found:
                return
            for result in found:
                yield result
            after = found[-1].index

    async def _put(self, item: Item) -> None:
        self._check_open()
        end = LARGEST_INDEX + 1 if self._job.total is None else self._job.total
        if type(item.index) is not int or not 0 <= item.index < end:
            raise ValueError(
                f"the index is {shown(item.index)}; give a whole number from 0 up to, not including, {end}"
            )
        if not self._progress.claim(item):
            raise AlreadyDeliveredError(self.path, item.index)
        await self._writer.put(item)

    def _check_open(self) -> None:
        if self._closing:
            raise JournalClosedError(self.path)

    async def aclose(self) -> None:
        """Put what was given on disk, and close; a second call waits for the first."""
        if not self._closing:
            self._closing = True
            self._writer.stop()
        await self._writer.ended()

    async def __aenter__(self) -> RunJournal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not self._closing:
            self._writer.stop()
            warnings.warn(
                f"the journal {self.path!r} was left open; close it with 'async with' or aclose()",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )


class OpeningJournal:
    """A journal about to be opened: ``async with`` opens and closes it, ``await`` opens it only."""

    def __init__(self, path: str | os.PathLike[str], job: JobIdentity) -> None:
        self._path = path
        self._job = job
        self._journal: RunJournal | None = None

    def __await__(self) -> Generator[Any, None, RunJournal]:
        return self._open().__await__()

    async def __aenter__(self) -> RunJournal:
        self._journal = await self._open()
        return self._journal

    async def __aexit__(self, *_: object) -> None:
        if self._journal is not None:
            await self._journal.aclose()

    async def _open(self) -> RunJournal:
        files = JournalFiles.at(self._path)
        writer = Writer(partial(Ledger, files, self._job), files.path)
        ledger = await writer.start()
        return RunJournal(files, self._job, writer, ledger.progress)
