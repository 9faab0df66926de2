"""A SIGTERM that nobody handles, turned into ``SystemExit``: what was opened is closed, as at any other exit.

By its default the signal ends a process at once: no child would be flushed, and Ray's own agents would outlive it by a
minute. A handler that is there already, of the program or of the command line, stays in charge.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

EXIT_CODE = 128 + signal.SIGTERM  # as a shell reports it


class Termination:
    """The handling of SIGTERM while a cluster is held."""

    def __init__(self) -> None:
        self._installed = False

    def install(self) -> None:
        """Take the signal over, where Python lets this thread and nobody else has."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _leave)
            self._installed = True

    def restore(self) -> None:
        """Give it back, unless somebody has taken it since."""
        if self._installed and signal.getsignal(signal.SIGTERM) is _leave:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._installed = False


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(EXIT_CODE)
