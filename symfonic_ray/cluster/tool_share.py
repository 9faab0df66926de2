"""One share of a batch in a worker: its calls run here and what they say streams back. Knows no batch, no driver.

The calls run on an event loop in a thread of its own, so that the main thread is always free to hand out what there is
and to hear that the share is cancelled: Ray interrupts the main thread, and an interrupt that struck a tool would be
taken for the tool's own. Rows are plain tuples, told apart by their first item.
"""

from __future__ import annotations

import asyncio
import pickle
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import ray

from symfonic_ray.cluster.contained_tasks import contain_exits
from symfonic_ray.cluster.tool_result import cut_text, packed_value
from symfonic_ray.execution import (
    AdmittedCall,
    PhaseRecord,
    RetrySchedule,
    ToolCall,
    ToolOutcome,
    ToolProgress,
    failed_outcome,
    run_call,
)
from symfonic_ray.execution.settling import is_containable
from symfonic_ray.kernel.text import failure_line

POLL_SECONDS = 0.05  # an interrupt is seen between two waits; Ray's does not wake a waiting thread
STOP_SECONDS = 1.5  # run_call gives a tool one second to clean up
CHUNK_GATHER_SECONDS = 0.05  # a group costs both ends a millisecond, and nothing waits for one outcome of a chunk
UNTAKEN_EVENTS = 64  # progress of one share that waits to be handed out; then its tools wait
GROUP_BYTES = 1 << 20
TOOLS_KEPT = 256

PROGRESS, OUTCOME, LEFT_BEHIND = "progress", "outcome", "left behind"

Row = tuple[Any, ...]
"""``(PROGRESS, place, sequence, payload)``, ``(OUTCOME, place, content, is_error, attempts, reason, value)``, where
payload and value are pickled, or ``(LEFT_BEHIND,)``: a call that was stopped for time left something running here."""


class CallRow(NamedTuple):
    """One call on its way to a worker."""

    place: int
    """Its place in the batch that it is of."""
    slot: int
    call_id: str
    name: str
    tool: str
    """The key of its tool."""
    args: bytes
    attempts: int
    """How often it was started before, in processes that died."""


@dataclass(frozen=True, slots=True)
class ShareTerms:
    """What holds for every call of a share."""

    retries: bytes
    """A pickled ``RetrySchedule``."""
    text_bytes: int
    value_bytes: int
    width: int
    """How many of the calls run at once, at least 1; they start in order."""
    acknowledged: bool
    """Whether a further call starts only when the outcome that makes room for it has reached the driver, which knows
    then what has been started should this process die."""
    announced: bool
    """Whether an empty group tells that the share has begun."""


def run_share(data: bytes, stored: Mapping[str, Any] | None = None) -> Iterator[bytes]:
    """Run the calls of a share and yield groups of rows: progress as it comes, and one outcome a call.

    Args:
        data: pickled: tools by key, each pickled by itself; ``CallRow``s; ``ShareTerms``.
        stored: Ray's references to the pickles of larger tools, by key.
    Yields:
        A pickled list of ``Row``s.
    """
    small, calls, terms = pickle.loads(data)
    share = _Share({**small, **(stored or {})}, calls, terms)
    if terms.announced:
        yield pickle.dumps([])
    share.start()
    try:
        while share.unanswered:
            if rows := share.take():
                yield pickle.dumps(rows)  # goes on when the driver has taken them: it reads a group ahead at most
                share.acknowledge(rows)
        if share.left_behind():
            yield pickle.dumps([(LEFT_BEHIND,)])
            while share.left_behind():  # until the driver ends this process, or what was left ends by itself
                time.sleep(POLL_SECONDS)
    finally:
        share.stop()


class _Share:
    """The thread that runs the calls, and what has come of them so far."""

    def __init__(self, tools: Mapping[str, Any], calls: Sequence[CallRow], terms: ShareTerms) -> None:
        self._tools = tools
        self._calls = calls
        self._terms = terms
        self.unanswered = len(calls)
        """Calls whose outcomes have not been taken, 0 also when the thread has ended without them."""
        self._rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self._threads_before = set(threading.enumerate())
        self._overran = False
        self._loop = asyncio.new_event_loop()
        self._turns = asyncio.Semaphore(terms.width)
        self._all_in = threading.Event()
        self._room = asyncio.Semaphore(UNTAKEN_EVENTS)
        self._serving: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._main, name="symfonic-ray share", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def take(self) -> list[Row]:
        """What is there now; waits a moment where there is nothing."""
        rows: list[Row] = []
        size = 0
        with suppress(queue.Empty):
            row = self._rows.get(timeout=POLL_SECONDS)
            while row is not None:
                rows.append(row)
                if row[0] == PROGRESS:
                    self._on_loop(self._room.release)
                else:
                    self.unanswered -= 1
                size += sum(len(part) for part in row if isinstance(part, bytes | str))
                if size > GROUP_BYTES:
                    return rows
                row = self._rows.get_nowait()
            self.unanswered = 0
        return rows

    def acknowledge(self, rows: list[Row]) -> None:
        """The driver has these; let as many calls start as they have outcomes, or wait for more where none waits."""
        if not self._terms.acknowledged:
            self._all_in.wait(CHUNK_GATHER_SECONDS)
            return
        for row in rows:
            if row[0] == OUTCOME:
                self._on_loop(self._turns.release)

    def left_behind(self) -> bool:
        """Whether something of these calls still runs: the loop itself, or a thread of one that overran its time."""
        self._thread.join(STOP_SECONDS)
        return self._thread.is_alive() or (self._overran and any(map(_outlives, self._strays())))

    def _strays(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread not in self._threads_before]

    def stop(self) -> None:
        """Tell what runs to stop, and wait a little for it; whoever cancelled the share ends the process after that."""
        if self._thread.is_alive():
            self._on_loop(self._cancel)
            self._thread.join(STOP_SECONDS)

    def _on_loop(self, act: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended: nothing is left to tell it
            self._loop.call_soon_threadsafe(act)

    def _cancel(self) -> None:
        if self._serving is not None:
            self._serving.cancel()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        contain_exits(self._loop)
        try:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._serve())
        finally:
            self._rows.put(None)
            self._all_in.set()
            self._end_loop()

    def _end_loop(self) -> None:
        """Close the loop once its tasks have ended; one that does not end keeps this thread, and shows itself by it."""
        rest = asyncio.all_tasks(self._loop)
        for task in rest:
            task.cancel()
        if rest:
            self._loop.run_until_complete(asyncio.wait(rest))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        retries: RetrySchedule = pickle.loads(self._terms.retries)
        async with asyncio.TaskGroup() as group:
            for row in self._calls:
                await self._turns.acquire()
                group.create_task(self._answer(row, retries))

    async def _answer(self, row: CallRow, retries: RetrySchedule) -> None:
        one = AdmittedCall(row.slot, ToolCall(row.call_id, row.name), None)
        try:
            tool = await _loaded(row.tool, self._tools[row.tool])
            one = AdmittedCall(row.slot, ToolCall(row.call_id, row.name, pickle.loads(row.args)), tool)
        except BaseException as error:  # loading runs code of the tool's module
            if not is_containable(error):
                raise
            words = f"{row.name} was not run: the process for it could not load it ({failure_line(error)})"
            outcome = failed_outcome(one, "serialization", words, attempts=0)
        else:
            outcome = await run_call(one, retries=_left_of(retries, row.attempts), emit=_Teller(self, row.place).tell)
        if outcome.reason == "timeout":
            self._overran = True
        self._rows.put(self._outcome_row(row, outcome))
        if not self._terms.acknowledged:
            self._turns.release()

    def _outcome_row(self, row: CallRow, outcome: ToolOutcome) -> Row:
        return (
            OUTCOME,
            row.place,
            cut_text(outcome.content, limit_bytes=self._terms.text_bytes),
            outcome.is_error,
            outcome.attempts + row.attempts,
            outcome.reason,
            packed_value(outcome.value, limit_bytes=self._terms.value_bytes),
        )

    async def tell(self, place: int, event: ToolProgress) -> None:
        """Hand out one event of progress, once there is room for it."""
        await self._room.acquire()
        payload = packed_value(event.payload, limit_bytes=self._terms.value_bytes)
        self._rows.put((PROGRESS, place, event.sequence, payload))


@dataclass(frozen=True, slots=True)
class _Teller:
    """Where the progress of one call goes."""

    share: _Share
    place: int

    async def tell(self, event: ToolProgress | PhaseRecord) -> None:
        if isinstance(event, ToolProgress):
            await self.share.tell(self.place, event)


def _outlives(thread: threading.Thread) -> bool:
    thread.join(POLL_SECONDS)  # an idle thread of an executor is on its way out
    return thread.is_alive()


def _left_of(retries: RetrySchedule, attempts: int) -> RetrySchedule:
    """What of a schedule is left after ``attempts`` in processes that died."""
    if not attempts:
        return retries
    pause = retries.backoff_seconds * retries.multiplier**attempts
    return RetrySchedule(retries.max_attempts - attempts, pause, retries.multiplier, retries.retry_on)


_LOADED: OrderedDict[str, Any] = OrderedDict()


async def _loaded(key: str, parcel: Any) -> Any:
    """The tool called ``key`` in this process, fetched and unpickled the first time."""
    if key not in _LOADED:
        tool = pickle.loads(parcel if isinstance(parcel, bytes) else await parcel)
        _LOADED.setdefault(key, tool)
        while len(_LOADED) > TOOLS_KEPT:
            _LOADED.popitem(last=False)
    return _LOADED[key]


RUN_SHARE = ray.remote(max_retries=0)(run_share)
"""The same as a Ray task; stream it, and set its resources by ``options``."""
