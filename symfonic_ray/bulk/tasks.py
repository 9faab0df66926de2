"""A file of tasks, one JSON value a line, read as a stream. Says what each line is; knows no fleet and runs nothing."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from symfonic_ray.delegation.roster import task_text
from symfonic_ray.kernel.text import failure_line

_BLOCK_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkTask:
    """One line that is not blank."""

    index: int
    """Its place among the lines that are not blank, from 0."""
    line: int
    """Its line number, from 1."""
    id: Any = None
    """What the user calls it, any JSON value; None where the line gives none."""
    text: str = ""
    """The task as the child gets it."""
    problem: str = ""
    """Why the line is no task; empty where it is one."""

    @property
    def digest(self) -> str:
        """32 hexadecimal digits of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSurvey:
    """What a whole file comes to, its lines unread."""

    total: int
    """Lines that are not blank."""
    digest: str
    """SHA-256 of its bytes, hexadecimal."""


class TaskFile:
    """Tasks on disk. Nothing is kept of a line that has been read.

    Args:
        path: JSON Lines in UTF-8. A line is a string, an object or an array; ``{"id": ..., "task": ...}`` and no
            other key is a task that has an id. Blank lines do not count.
        longest_bytes: a line longer than this is no task and is not kept in memory.
    """

    def __init__(self, path: Path, *, longest_bytes: int) -> None:
        self.path = path
        self._longest_bytes = longest_bytes

    def survey(self) -> TaskSurvey:
        """Read the file once from end to end.

        Raises:
            OSError: if it cannot be read.
        """
        digest = hashlib.sha256()
        with open(self.path, "rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
            stream.seek(0)
            total = sum(1 for _ in self._lines(stream))
        return TaskSurvey(total=total, digest=digest.hexdigest())

    def read(self, settled: Container[int] = ()) -> Iterator[BulkTask]:
        """The tasks in the order of the file.

        Args:
            settled: indexes to leave out, unread.
        Raises:
            OSError: if the file cannot be read.
        """
        with open(self.path, "rb") as stream:
            for index, (line, raw) in enumerate(self._lines(stream)):
                if index not in settled:
                    yield self._task(index, line, raw)

    def _lines(self, stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
        """Number and bytes of every line that is not blank; None in the place of a line that is too long."""
        line = 0
        while raw := stream.readline(self._longest_bytes + 1):
            line += 1
            if line == 1:
                raw = raw.removeprefix(_BYTE_ORDER_MARK)
            if len(raw) > self._longest_bytes and not raw.endswith(b"\n"):
                while (rest := stream.readline(_BLOCK_BYTES)) and not rest.endswith(b"\n"):
                    pass
                yield line, None
            elif raw.strip():
                yield line, raw

    def _task(self, index: int, line: int, raw: bytes | None) -> BulkTask:
        if raw is None:
            words = f"is longer than {self._longest_bytes:,} bytes; hand over the path of a file instead"
            return BulkTask(index=index, line=line, problem=f"line {line} {words}")
        try:
            text = raw.decode("utf-8")
            value = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_number, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            return BulkTask(index=index, line=line, problem=f"line {line} {_trouble(error)}")
        given_id = None
        if isinstance(value, dict) and value.keys() == {"id", "task"}:
            given_id, value = value["id"], value["task"]
        if not isinstance(value, str | dict | list):
            problem = (
                f"line {line} is {json.dumps(value)[:40]}, which is no task; write a string, an object or an array"
            )
            return BulkTask(index=index, line=line, id=given_id, problem=problem)
        return BulkTask(index=index, line=line, id=given_id, text=task_text(value))


class AmbiguousLineError(ValueError):
    """JSON that may mean two things, or no value: its text goes after the line's number."""


def _no_number(name: str) -> NoReturn:
    raise AmbiguousLineError(f"holds {name}, which is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):  # 1e999 is legal JSON, but would leave as Infinity, which is not
        raise AmbiguousLineError(f"holds {digits[:32]}, which is out of range for a number")
    return number


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise AmbiguousLineError(f"gives the key {twice[:64]!r} twice; keep one of the two")
    return read


def _trouble(error: Exception) -> str:
    """What is wrong with a line, to stand after its number."""
    if isinstance(error, AmbiguousLineError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 text (its byte {error.start + 1}); save the file as UTF-8"
    if isinstance(error, RecursionError):
        return "is nested too deeply to be read"
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON (at character {error.pos + 1}: {error.msg}); write a string, an object or an array"
    return f"is not JSON: {failure_line(error)}"
