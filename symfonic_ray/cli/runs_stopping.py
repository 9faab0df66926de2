"""Asking the process that owns a run to stop. Signals only the very process that began it; waits a bounded time."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symfonic_ray.journal import RunRow, RunStore

POLL_SECONDS = 0.1


def ask_to_stop(run: RunRow) -> str:
    """Interrupt the run's process as Ctrl-C does; why that was not done, or empty where it was.

    The process is held by a descriptor while its start is compared, so that a later process of the same number
    cannot be hit.
    """
    from symfonic_ray.journal.process_mark import process_mark

    if not run.pid_started:
        return f"this system does not tell processes apart; stop process {run.pid} yourself"
    try:
        descriptor = os.pidfd_open(run.pid)
    except OSError:
        return f"process {run.pid} is gone"
    try:
        if process_mark(run.pid) != run.pid_started:
            return f"process {run.pid} is gone"
        signal.pidfd_send_signal(descriptor, signal.SIGINT)
    except ProcessLookupError:
        return f"process {run.pid} is gone"
    except PermissionError:
        return f"process {run.pid} belongs to another user"
    finally:
        os.close(descriptor)
    return ""


def outcome_within(store: RunStore, run_id: str, *, patience_seconds: float) -> str:
    """The outcome of a run once it is no longer ``running``, or ``running`` when the patience is at its end.

    Raises:
        RunStoreError: if the store cannot be read.
    """
    give_up_at = time.monotonic() + patience_seconds
    while True:
        outcome = next((run.outcome for run in store.runs() if run.run_id == run_id), "lost")
        if outcome != "running" or time.monotonic() >= give_up_at:
            return outcome
        time.sleep(POLL_SECONDS)
