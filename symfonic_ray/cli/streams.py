"""Where results and words go: results to the real stdout, everything else to stderr. Knows no command.

Ray prints lines such as "(raylet) A worker died" to stdout by itself, and a user's agent may print too. So for as long
as a command works, file descriptor 1 leads to stderr, and only a kept duplicate leads to the real stdout.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from symfonic_ray.report.harmless import harmless

_STDOUT, _STDERR = 1, 2


def say(words: str) -> None:
    """Write a line of words for a person to stderr."""
    print(harmless(words), file=sys.stderr, flush=True)


class Results:
    """The real stdout."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def text(self, text: str) -> None:
        """Write an answer; on a terminal its control characters are made harmless."""
        self._write(harmless(text) if self._stream.isatty() else text)

    def object(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on one line, in ASCII: no locale can break it."""
        self._write(json.dumps(value))

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except BrokenPipeError:
            say("nobody reads the result any more: stdout is closed")


@contextlib.contextmanager
def results() -> Iterator[Results]:
    """Hold the real stdout for a ``with`` block; meanwhile whatever is printed to stdout goes to stderr."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    stream = open(kept, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what Python prints need not wait in stdout's buffer
            yield Results(stream)
    finally:
        with contextlib.suppress(BrokenPipeError):  # said when it was written
            stream.close()
        os.dup2(kept, _STDOUT)
        os.close(kept)
