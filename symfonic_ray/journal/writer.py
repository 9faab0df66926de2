"""One thread that does all the waiting for the disk. Decides what shares a commit; knows no table and no file.

All that was put while one commit was under way goes into the next: many that wait share one sync.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from symfonic_ray.journal.errors import JournalError, JournalWriteError
from symfonic_ray.journal.ledger import Ledger
from symfonic_ray.journal.state import Item

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Put:
    item: Item
    told: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class _Question:
    answer: Callable[[Ledger], Any]  # Any: whatever the question gives
    told: asyncio.Future[Any]


class Writer:
    """The thread of one journal, for one event loop.

    It is a daemon: a program that ends without closing is not held up, and loses nothing that was acknowledged.

    Args:
        open_ledger: opens the journal; called in the thread.
    """

    def __init__(self, open_ledger: Callable[[], Ledger], path: str) -> None:
        self._open_ledger = open_ledger
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._work: SimpleQueue[_Put | _Question | None] = SimpleQueue()
        self._opened: asyncio.Future[Ledger] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="symfonic-ray-journal", daemon=True)

    async def start(self) -> Ledger:
        """Open the journal.

        Returns:
            The ledger; only ``progress`` may be read outside the thread.
        Raises:
            JournalError: if it cannot be opened.
            asyncio.CancelledError: if the caller was cancelled; then the journal is closed again.
        """
        self._thread.start()
        try:
            return await self._opened
        except asyncio.CancelledError:
            self.stop()
            await self.ended()
            raise

    def put(self, item: Item) -> asyncio.Future[None]:
        """Hand over an item; the future is done once it is on disk, or has a ``JournalError``."""
        told: asyncio.Future[None] = self._loop.create_future()
        self._work.put(_Put(item, told))
        return told

    def ask(self, answer: Callable[[Ledger], T]) -> asyncio.Future[T]:
        """Ask the ledger something in its thread, after what was put before."""
        told: asyncio.Future[T] = self._loop.create_future()
        self._work.put(_Question(answer, told))
        return told

    def stop(self) -> None:
        """Have the thread end after what was put before."""
        self._work.put(None)

    async def ended(self) -> None:
        """Wait until the thread has closed the journal; a caller that is cancelled does not hinder it."""
        await asyncio.shield(self._ended)

    def _run(self) -> None:
        try:
            ledger = self._open_ledger()
        except Exception as error:
            self._tell(_fail, self._opened, error)
            self._tell(_give, self._ended, None)
            return
        self._tell(_give, self._opened, ledger)
        try:
            while self._serve(ledger):
                pass
        finally:
            ledger.close()
            self._tell(_give, self._ended, None)

    def _serve(self, ledger: Ledger) -> bool:
        """Do all the work that waits; False once it is to end."""
        work = [self._work.get()]
        while True:
            try:
                work.append(self._work.get_nowait())
            except Empty:
                break
        puts = [piece for piece in work if isinstance(piece, _Put)]
        if puts:
            self._commit(ledger, puts)
        for piece in work:
            if isinstance(piece, _Question):
                self._answer(ledger, piece)
        return None not in work

    def _commit(self, ledger: Ledger, puts: list[_Put]) -> None:
        failure: JournalError | None = None
        try:
            ledger.commit([put.item for put in puts])
        except JournalError as error:
            failure = error
        except Exception as error:  # whoever waits must be told
            failure = JournalWriteError(self._path, type(error).__name__)

        def tell() -> None:
            for put in puts:
                if failure is None:
                    ledger.progress.apply(put.item)  # also where nobody waits: a cancelled caller's item is on disk
                    _give(put.told, None)
                else:
                    ledger.progress.drop(put.item)
                    _fail(put.told, type(failure)(*failure.args))  # one each: a raised error gathers tracebacks

        self._tell(tell)

    def _answer(self, ledger: Ledger, question: _Question) -> None:
        try:
            answer = question.answer(ledger)
        except Exception as error:
            self._tell(_fail, question.told, error)
        else:
            self._tell(_give, question.told, answer)

    def _tell(self, callback: Callable[..., None], *facts: Any) -> None:  # Any: what the callback takes
        try:
            self._loop.call_soon_threadsafe(callback, *facts)
        except RuntimeError:
            return  # the loop was closed: nobody waits any more


def _give(told: asyncio.Future[T], value: T) -> None:
    if not told.done():
        told.set_result(value)


def _fail(told: asyncio.Future[Any], error: BaseException) -> None:
    if not told.done():
        told.set_exception(error)
