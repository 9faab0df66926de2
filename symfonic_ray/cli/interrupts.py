"""What Ctrl-C and SIGTERM do to a command that works: close first, leave then. Knows no cluster and no fleet."""

from __future__ import annotations

import asyncio
import os
import signal

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.streams import say

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Turns signals into cancellations of the task that created it.

    The first cancels the task, which closes what it opened, each child under its grace. The second cancels the closing
    too, so that only the cluster's own end is waited for. The third leaves at once: Ray's processes then end by
    themselves because the one that started them is gone.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # made inside a coroutine
        self._task = task
        self.received = 0

    def install(self) -> None:
        """Take the signals over; again after Ray is up, because it puts its own SIGTERM handler in place."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal)

    def absorb(self) -> None:
        """Take back the cancellations so far, where the task goes on to close what is open."""
        while self._task.cancelling():
            self._task.uncancel()

    def _on_signal(self) -> None:
        self.received += 1
        if self.received == 1:
            say("interrupted: cancelling what runs and closing; once more to hurry")
            self._task.cancel()
        elif self.received == 2:
            say("hurrying: closing without grace; once more to leave at once")
            self._task.cancel()
        else:
            os._exit(ExitCode.CANCELLED)
