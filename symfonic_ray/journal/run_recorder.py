"""What a run leaves in the run store. Decides how much; a store that fails costs one warning, never the run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from symfonic_ray.delegation import DelegationRecord, HandOffEnded, HandOffEvent, HandOffStarted
from symfonic_ray.journal.errors import RunStoreError
from symfonic_ray.journal.process_mark import process_mark
from symfonic_ray.journal.run_rows import HandOffRow, RunRow
from symfonic_ray.journal.run_store import RunStore
from symfonic_ray.kernel import new_run_id
from symfonic_ray.kernel.text import clipped, collapsed

KEPT_HAND_OFFS = 10_000  # some 10 MB; the rest of a larger run is counted only
_MESSAGE_BYTES = 1024
_SHORT_BYTES = 200


class RunRecorder:
    """Keeps one run: ``begin``, then every event through ``on_event``, then ``end``.

    For any fleet that tells of its hand-offs::

        recorder = RunRecorder(RunStore(state_file()), command="nightly", fleet="readers", scope="acme", question="...")
        recorder.begin()
        forget = fleet.observe(recorder.on_event)
        ...
        forget()
        recorder.end("delivered")

    Hand-offs are held in memory and written by ``end``: a process that is killed leaves a run that is shown as lost.

    Args:
        store: where it goes.
        command: what the run is of.
        fleet: its name.
        scope: the tenant.
        question: what was asked; cut to 200 bytes.
        warn: told in one line, once, if the run cannot be recorded.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        command: str,
        fleet: str,
        scope: str,
        question: str,
        warn: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._store, self._warn = store, warn
        self._began_at = time.monotonic()
        self._started: dict[int, HandOffStarted] = {}
        self._rows: list[HandOffRow] = []
        self._failed = self._left_out = self._spared = 0
        self._recording = False
        self._run = RunRow(
            run_id=new_run_id(),
            command=command,
            fleet=_line(fleet),
            scope=_line(scope),
            question=_line(question),
            started_at=time.time(),
            seconds=None,
            outcome="running",
            message="",
            hand_offs=0,
            failed=0,
            left_out=0,
            pid=os.getpid(),
            pid_started=process_mark(os.getpid()),
        )

    @property
    def run_id(self) -> str:
        """Under which it is found again."""
        return self._run.run_id

    @property
    def recording(self) -> bool:
        """Whether the store has taken all so far."""
        return self._recording

    def begin(self) -> None:
        """Note that the run has begun; waits for the disk, and up to 5 s for another command's write."""
        self._recording = True
        self._keep(lambda: self._store.begin(self._run))

    def on_event(self, event: HandOffEvent) -> None:
        """Take in one event; nothing is written."""
        if isinstance(event, HandOffStarted):
            self._started[event.key] = event
            return
        started = None if event.key is None else self._started.pop(event.key, None)
        self._failed += not event.record.outcome.delivered
        if len(self._rows) < KEPT_HAND_OFFS:
            self._rows.append(self._row(event, started))
            return
        self._left_out += 1
        if not event.record.outcome.delivered and (place := self._least_told()) is not None:
            self._rows[place] = self._row(event, started)  # what went wrong is what is asked for later

    def _least_told(self) -> int | None:
        """The place of a row that may make room for a failure; None when failures fill them all."""
        while self._spared < len(self._rows):
            self._spared += 1
            if self._rows[self._spared - 1].delivered:
                return self._spared - 1
        return None

    def end(self, outcome: str, message: str = "") -> None:
        """Write what the run came to; waits for the disk, and up to 5 s for another command's write.

        Args:
            outcome: such as ``delivered``, ``failed`` or ``cancelled``.
            message: why, where it is not ``delivered``; cut to 1 KiB.
        """
        ended = replace(
            self._run,
            seconds=time.monotonic() - self._began_at,
            outcome=outcome,
            message=_line(message, _MESSAGE_BYTES),
            hand_offs=len(self._rows) + self._left_out,
            failed=self._failed,
            left_out=self._left_out,
        )
        if self._recording:
            self._keep(lambda: self._store.end(ended, self._rows))

    def _keep(self, write: Callable[[], None]) -> None:
        try:
            write()
        except RunStoreError as error:
            self._recording = False
            self._warn(f"this run is not recorded: {error}")

    def _row(self, event: HandOffEnded, started: HandOffStarted | None) -> HandOffRow:
        record = event.record
        data = record.as_dict()
        return HandOffRow(
            name=_line(data["name"]),
            task="" if started is None else _line(started.task),
            depth=record.depth,
            outcome=str(record.outcome),
            reason=record.reason,
            message=_line(record.message, _MESSAGE_BYTES),
            run_id=record.run_id,
            root_run_id=record.root_run_id,
            parent_run_id=record.parent_run_id or "",
            scope_key=record.scope_key,
            generation=record.generation,
            fresh=record.fresh,
            queue_position=record.queue_position,
            started_seconds=max(0.0, time.monotonic() - self._began_at - record.seconds),
            seconds=record.seconds,
            usage=_usage(record),
        )


def _line(text: str, limit_bytes: int = _SHORT_BYTES) -> str:
    return clipped(collapsed(text[: 4 * limit_bytes]), limit_bytes=limit_bytes)


def _usage(record: DelegationRecord) -> str:
    usage: dict[str, Any] = {} if record.usage is None else dict(record.usage)  # Any: plain JSON data
    words = json.dumps(usage) if usage else ""
    return words if len(words) <= _MESSAGE_BYTES else ""
