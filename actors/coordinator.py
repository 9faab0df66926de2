"""The parent of the readers: lists the files, hands out the slices, ranks what comes back, quotes the best.

Reads no text itself and writes no sentence of its own about the subject: an answer is quotations. A language model may
put them into a sentence above them, where one is asked for.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actors import ranking
from actors.answer import Quote, no_passage, with_quotes
from actors.assignment import Assignment, Candidate, Finding
from actors.errors import AssignmentError
from actors.listing import LeftOut, Listed, Skipped, Slice, listing
from actors.markup import without_tags
from actors.phrasing import EXTRACTIVE, Phrasing
from actors.question import Question
from symfonic_ray.delegation import DelegationRecord, current_fleet

READER = "reader"
IN_FLIGHT = 16
MAX_GROUPS = 5
MIN_SCORE = 0.3  # a passage that covers less of the question is no answer to it
SHARE_OF_BEST = 0.6  # a passage this much weaker than the best one only distracts from it
_WORDS = re.compile(r"[\W_]+")
MAX_QUESTION_CHARACTERS = 8_000  # it travels with every slice

NEEDED = (
    'this agent needs a JSON object with two texts: {"question": "...", "input": "/absolute/path/of/a/file/or/folder"}'
)
NO_SUBJECT = "the question has no word that says what it is about; name the thing you want to know about"
TOO_LONG = f"the question is too long; at most {MAX_QUESTION_CHARACTERS} characters"


@dataclass(frozen=True, slots=True)
class CoordinatorAnswer:
    """What a coordinator says."""

    final_response: str
    """The quotations as text, with what was not read below them."""
    quotes: tuple[Quote, ...] = ()
    """Best first; the lines of one sentence stand together."""
    notes: tuple[str, ...] = ()
    """What was skipped or failed, one line each, starting with the file."""


@dataclass(slots=True)
class _Reading:
    """What is known so far of the files of one question."""

    question: Question
    waiting: deque[Slice] = field(default_factory=deque)
    """Handed out and not yet answered, in the order of the records."""
    read: dict[str, None] = field(default_factory=dict)
    """Files that were read, in order."""
    notes: dict[str, None] = field(default_factory=dict)
    passages: int = 0
    frequency: Any = 0  # Any: 0 until the first finding, then an array of shape (terms,)
    candidates: list[tuple[Slice, Candidate, str]] = field(default_factory=list)
    """With the name of the child that found it."""


class Coordinator:
    """Answers ``{"question": ..., "input": ...}`` with quotations from the input's files."""

    def __init__(self, phrasing: Phrasing | None = None) -> None:
        self._phrasing = phrasing

    async def run(
        self,
        query: str | Mapping[str, Any],
        *,
        scope: object = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> CoordinatorAnswer:
        """Answer ``query`` with the readers of the fleet in flight, at most 16 at once.

        Raises:
            InputError: the input is missing or cannot be read at all.
            LookupError: no fleet is in flight.
        """
        wish = _wish(query)
        if wish is None:
            return CoordinatorAnswer(NEEDED)
        text, input_path = wish
        question = Question.of(text[: MAX_QUESTION_CHARACTERS + 1])
        if len(text) > MAX_QUESTION_CHARACTERS:
            return CoordinatorAnswer(TOO_LONG)
        if not question.terms:
            return CoordinatorAnswer(NO_SUBJECT)
        reading = _Reading(question)
        listed = await asyncio.to_thread(listing, input_path)
        async for record in current_fleet().fan_out(_tasks(reading, listed), in_flight=IN_FLIGHT, ordered=True):
            _take(reading, record)
        for part in reading.waiting:
            reading.notes[f"{part.file}: was not read (the hand-offs ended early)"] = None
        groups = _best_groups(reading)
        if not groups:
            notes = tuple(reading.notes)
            return CoordinatorAnswer(no_passage(tuple(reading.read), notes), (), notes)
        phrased = await self._phrased(text, groups, reading)
        notes = tuple(reading.notes)
        quotes = tuple(quote for group in groups for quote in group)
        return CoordinatorAnswer(with_quotes(groups, notes, phrased=phrased), quotes, notes)

    async def aclose(self) -> None:
        """Close the model, where there is one."""
        if self._phrasing is not None:
            await self._phrasing.aclose()

    async def _phrased(self, question: str, groups: Sequence[Sequence[Quote]], reading: _Reading) -> str:
        """The answer in a model's words, signed; empty where there is no model or it wrote nothing."""
        if self._phrasing is None:
            return ""
        said = await self._phrasing.phrase(question, groups)
        if said.failure:
            reading.notes[said.failure] = None
        return self._phrasing.signed(said.text) if said.text else ""


def build(scope: object, *, model: str | None = None) -> Coordinator:
    """A coordinator; the same for every scope, for it remembers nothing between two questions.

    Args:
        scope: the tenant.
        model: puts the quotations into a sentence; None, or ``extractive``, leaves them as they are.
    Raises:
        ModelError: when the model cannot be had.
    """
    return Coordinator(None if model in (None, EXTRACTIVE) else Phrasing(model))


def _wish(query: str | Mapping[str, Any]) -> tuple[str, str] | None:
    """Question and input path; None when ``query`` does not hold both as text."""
    if isinstance(query, str):
        try:
            query = json.loads(query)
        except (ValueError, RecursionError):
            return None
    if not isinstance(query, Mapping):
        return None
    question, input_path = query.get("question"), query.get("input")
    return (question, input_path) if isinstance(question, str) and isinstance(input_path, str) else None


async def _tasks(reading: _Reading, listed: Iterator[Listed]) -> AsyncIterator[tuple[str, str]]:
    # Listing reads disks: each step in a thread, so that replies are taken meanwhile.
    while (item := await asyncio.to_thread(next, listed, None)) is not None:
        if isinstance(item, Slice):
            reading.waiting.append(item)
            yield READER, Assignment(reading.question.text, item).to_json()
        else:
            reading.notes[_note(item)] = None


def _note(item: Skipped | LeftOut) -> str:
    if isinstance(item, Skipped):
        return f"{item.file}: {item.reason}"
    return f"{'' if item.exact else 'at least '}{item.count} more files: over the limit, not read"


def _take(reading: _Reading, record: DelegationRecord) -> None:
    part = reading.waiting.popleft()
    if not record.outcome.delivered:
        reading.notes[f"{part.file}: its reader failed ({record.reason}): {record.message}"] = None
        return
    try:
        finding = Finding.from_json(record.message, terms=len(reading.question.terms))
    except AssignmentError as error:
        reading.notes[f"{part.file}: its reader answered something else ({error.problem})"] = None
        return
    if finding.skipped:
        reading.notes[f"{part.file}: {finding.skipped}"] = None
        return
    reading.read[part.file] = None
    reading.passages += finding.passages
    reading.frequency = reading.frequency + np.array(finding.document_frequency)
    reading.candidates.extend((part, candidate, str(record.name)) for candidate in finding.candidates)


def _best_groups(reading: _Reading) -> tuple[tuple[Quote, ...], ...]:
    """The best passages, each as the quotes of its lines."""
    found = reading.candidates
    if not found:
        return ()
    scores = ranking.scores(
        np.array([candidate.own for _, candidate, _ in found]),
        np.array([candidate.near for _, candidate, _ in found]),
        np.array([candidate.characters for _, candidate, _ in found]),
        np.array([candidate.fits for _, candidate, _ in found]),
        ranking.idf(reading.passages, reading.frequency),
    )
    groups: list[tuple[Quote, ...]] = []
    seen: set[str] = set()
    least = max(MIN_SCORE, SHARE_OF_BEST * float(scores.max()))
    for place in ranking.best(scores, len(found)):
        part, candidate, child = found[place]
        words = _WORDS.sub(" ", without_tags(" ".join(s.text for s in candidate.segments)).casefold()).strip()
        if scores[place] < least or len(groups) == MAX_GROUPS:
            break
        if words not in seen:
            seen.add(words)
            groups.append(tuple(Quote(part.file, s.line, s.text, child) for s in candidate.segments))
    return tuple(groups)
