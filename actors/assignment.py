"""What a coordinator asks of a reader and what a reader answers, as JSON text. Reads no file, ranks nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from actors.errors import AssignmentError
from actors.listing import Slice
from actors.passages import Segment


@dataclass(frozen=True, slots=True)
class Assignment:
    """A question and the slice to look for its answer in."""

    question: str
    part: Slice

    def to_json(self) -> str:
        """The task text."""
        return json.dumps({"file": self.part.file, "question": self.question, **asdict(self.part)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """Read a task text.

        Raises:
            AssignmentError: not a JSON object, a field missing, unknown or of another type, or an impossible range.
        """
        data = _object(text)
        question = _field(data, "question", str)
        part = Slice(
            root=_field(data, "root", str),
            file=_field(data, "file", str),
            start=_field(data, "start", int),
            end=_field(data, "end", int),
            first_line=_field(data, "first_line", int),
            fence=_field(data, "fence", str),
            file_bytes=_field(data, "file_bytes", int),
            modified_ns=_field(data, "modified_ns", int),
        )
        if data:
            raise AssignmentError(f"unknown field {min(data)!a}")
        if not 0 <= part.start <= part.end or part.first_line < 1:
            raise AssignmentError("its range of bytes or lines is impossible")
        if "\0" in part.path:
            raise AssignmentError("its path holds a NUL")
        return cls(question, part)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may answer, with what a ranking over all files needs."""

    segments: tuple[Segment, ...]
    own: tuple[float, ...]
    """How often each term of the question stands in it."""
    near: tuple[float, ...]
    """How strongly, 0 to 1, each term stands around it."""
    characters: int
    fits: bool
    """Whether it holds the kind of thing that is asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a reader found in its slice."""

    skipped: str = ""
    """Why the slice was not read; empty when it was."""
    passages: int = 0
    """How many passages it holds."""
    document_frequency: tuple[int, ...] = ()
    """In how many of them each term of the question stands; in the order of ``question_terms``."""
    candidates: tuple[Candidate, ...] = ()
    """Best first, by the idf of this slice alone."""

    def to_json(self) -> str:
        """The answer text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, terms: int) -> Finding:
        """Read an answer text about a question of ``terms`` terms.

        Raises:
            AssignmentError: anything but the answer of a reader that read the same question.
        """
        data = _object(text)
        found = cls(
            _field(data, "skipped", str),
            _field(data, "passages", int),
            tuple(_field(data, "document_frequency", list)),
            tuple(_candidate(item, terms) for item in _field(data, "candidates", list)),
        )
        if found.passages < 0:
            raise AssignmentError("its number of passages is negative")
        if not found.skipped:
            _check_numbers(found.document_frequency, terms)
        return found


def _candidate(data: Any, terms: int) -> Candidate:  # Any: JSON that another process wrote
    if not isinstance(data, dict):
        raise AssignmentError("a candidate is not an object")
    segments = []
    for item in _field(data, "segments", list):
        if not isinstance(item, dict):
            raise AssignmentError("a segment is not an object")
        segments.append(Segment(_field(item, "line", int), _field(item, "text", str)))
    own, near = tuple(_field(data, "own", list)), tuple(_field(data, "near", list))
    _check_numbers(own, terms)
    _check_numbers(near, terms)
    characters = _field(data, "characters", int)
    if not segments or characters < 1:
        raise AssignmentError("a candidate holds no text")
    return Candidate(tuple(segments), own, near, characters, _field(data, "fits", bool))


def _check_numbers(numbers: tuple[Any, ...], count: int) -> None:
    if len(numbers) != count or not all(type(number) in (int, float) and 0 <= number < 1e9 for number in numbers):
        raise AssignmentError(f"it needs {count} numbers, one for each term of the question")


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AssignmentError("it is not JSON text") from error
    if not isinstance(data, dict):
        raise AssignmentError("it is not a JSON object")
    return data


def _field(data: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = data.pop(name, None)
    if type(value) is not kind:
        raise AssignmentError(f"its field {name!r} must be of type {kind.__name__}")
    return value
