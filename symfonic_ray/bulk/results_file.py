"""The file that a bulk job's results go to, a line each. Decides when an existing file may be replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import TextIO

from symfonic_ray.bulk.result import BulkResult


def results_problem(path: Path, *, replace: bool, job: str | None) -> str:
    """Why results cannot go to ``path``; empty if they can.

    Args:
        path: where they are to go.
        replace: whether an existing file is given up.
        job: the job that is taken up again: its own earlier results may be replaced; None for a new one.
    """
    if path.is_dir():
        return f"{path} is a folder; give the path of a file"
    if not path.absolute().parent.is_dir():
        return f"the folder of {path} does not exist; make it first"
    if path.exists() and not path.is_file():
        return f"{path} is no regular file; give the path of a file"
    if not path.exists() or replace or (job is not None and _holds_job(path, job)):
        return ""
    if job is None:
        return f"{path} exists; give another path, or --force to replace it"
    return f"{path} does not hold the results of this journal's job; give another path, or --force to replace it"


def _holds_job(path: Path, job: str) -> bool:
    """Whether a file is empty, as a job killed early leaves it, or its first line belongs to ``job``."""
    with open(path, "rb") as stream:
        first = stream.readline(1 << 24)
    try:
        line = json.loads(first) if first else {"job": job}
    except ValueError:
        return False
    return isinstance(line, dict) and line.get("job") == job


class ResultsFile:
    """Results on disk, each as soon as it is written.

    Args:
        path: its place.
        stream: open for writing, a line at a time.
        job: which journal's job the results belong to; None without a journal.
    """

    def __init__(self, path: Path, stream: TextIO, job: str | None) -> None:
        self.path = path
        self._stream = stream
        self._job = job
        self._unfinished: Path | None = None

    @classmethod
    def create(cls, path: Path, *, replace: bool, job: str | None = None) -> ResultsFile:
        """Start an empty file.

        Raises:
            FileExistsError: if there is one and it is not to be replaced.
            OSError: if it cannot be written.
        """
        return cls(path, open(path, "w" if replace else "x", encoding="ascii", buffering=1), job)

    @classmethod
    def beside(cls, path: Path, *, job: str | None) -> ResultsFile:
        """Start a new file beside ``path`` that takes its place at ``take_place``; until then the old one stands.

        Raises:
            OSError: if it cannot be written.
        """
        unfinished = path.with_name(f"{path.name}.unfinished")
        made = cls(path, open(unfinished, "w", encoding="ascii", buffering=1 << 16), job)  # noqa: SIM115
        made._unfinished = unfinished
        return made

    def take_place(self) -> None:
        """Replace the old file at once; what is written later goes on in this one."""
        assert self._unfinished is not None, "only a file made beside another takes its place"
        os.replace(self._unfinished, self.path)
        self._unfinished = None
        assert hasattr(self._stream, "reconfigure")
        self._stream.reconfigure(line_buffering=True)  # flushes too

    def write(self, result: BulkResult) -> None:
        """Add one line.

        Raises:
            OSError: if it cannot be written.
        """
        self._stream.write(result.as_line(self._job))

    def close(self) -> None:
        """Close it; a file that has not taken its place is removed."""
        self._stream.close()
        if self._unfinished is not None:
            self._unfinished.unlink(missing_ok=True)

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
