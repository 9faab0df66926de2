"""A child that reads one slice of one text file and gives the passages that may answer a question.

Opens nothing outside the root of its task and knows no other file: the ranking over all files is the coordinator's.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from actors import ranking
from actors.assignment import Assignment, Candidate, Finding
from actors.listing import Slice, is_markdown
from actors.markup import without_tags
from actors.opening import open_inside
from actors.passages import passages
from actors.question import Question
from actors.ranking import Floats
from actors.terms import beginnings, folded, is_kin, terms

MAX_CANDIDATES = 24
_KIN = 0.3  # "visitors" for "visit": counts, but less than the word itself
_HEADING, _LEAD, _BEFORE, _FILE = 0.5, 0.6, 0.45, 0.5


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """What a reader says."""

    final_response: str
    """A ``Finding`` as JSON text."""


class Reader:
    """Reads the slice of its task; keeps nothing between two tasks."""

    def run(
        self,
        query: str,
        *,
        scope: object = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> ReaderAnswer:
        """Carry out an ``Assignment`` given as JSON text; blocks, so a host runs it in a thread.

        A file that changed, vanished or turned out not to be text is an answer that says so.

        Raises:
            AssignmentError: a malformed task, or a file that the reader may not open.
        """
        assignment = Assignment.from_json(query)
        text = _read(assignment.part)
        finding = text if isinstance(text, Finding) else find(assignment.question, text, assignment.part)
        return ReaderAnswer(finding.to_json())


def build(scope: object) -> Reader:
    """A reader; the same for every scope, for it remembers nothing."""
    return Reader()


def find(question: str, text: str, part: Slice) -> Finding:
    """The passages of ``text``, which is ``part`` of a file, that may answer ``question``; at most 24."""
    asked = Question.of(question)
    found = passages(text, first_line=part.first_line, markdown=is_markdown(part.file), fence=part.fence)
    hits = _Hits(asked.terms)
    if not asked.terms or not found:
        return Finding(passages=len(found), document_frequency=(0,) * len(asked.terms))
    of_file = _FILE * _present(hits.of(part.file.rpartition("/")[2].partition(".")[0]))
    all_own = np.stack([hits.of(passage.text) for passage in found])
    all_near = np.zeros_like(all_own)
    for weight, around in (
        (_HEADING, [passage.heading for passage in found]),
        (_LEAD, [passage.lead for passage in found]),
        (_BEFORE, [passage.before for passage in found]),
    ):
        all_near = np.maximum(all_near, weight * _present(np.stack([hits.of(words) for words in around])))
    touched = np.flatnonzero((all_own + all_near).any(axis=1))
    rows = [int(row) for row in touched if not asked.is_echoed_by(found[row].text)]
    all_own, all_near = all_own[rows], np.maximum(all_near[rows], of_file)
    said = [found[row] for row in rows]
    characters = np.array([len(passage.text) for passage in said], dtype=np.int64)
    fits = np.array([asked.fits(passage.text) for passage in said], dtype=np.bool_)
    frequency = np.count_nonzero(all_own, axis=0)
    scores = ranking.scores(all_own, all_near, characters, fits, ranking.idf(len(found), frequency))
    return Finding(
        passages=len(found),
        document_frequency=tuple(int(count) for count in frequency),
        candidates=tuple(
            Candidate(
                segments=said[place].segments,
                own=tuple(float(number) for number in all_own[place]),
                near=tuple(float(number) for number in all_near[place]),
                characters=int(characters[place]),
                fits=bool(fits[place]),
            )
            for place in ranking.best(scores, MAX_CANDIDATES)
        ),
    )


class _Hits:
    """How often each term of a question stands in a text."""

    def __init__(self, asked: tuple[str, ...]) -> None:
        self._asked = asked
        self._none = np.zeros(len(asked))
        starts = sorted({re.escape(start) for term in asked for start in beginnings(term)})
        # Most passages hold no word that begins like one of the question: they are never cut into terms.
        self._may_hold = re.compile("|".join(starts) or r"(?!)")
        self._known: dict[str, Floats] = {"": self._none}

    def of(self, text: str) -> Floats:
        """Shape (terms,), counts; a word of its kin counts 0.3."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._count(text) if self._may_hold.search(folded(text)) else self._none
        return known

    def _count(self, text: str) -> Floats:
        counted = Counter(terms(without_tags(text)))
        return np.array(
            [counted[term] or _KIN * any(is_kin(term, other) for other in counted) for term in self._asked],
            dtype=np.float64,
        )


def _present(counts: Floats) -> Floats:
    return np.asarray(np.minimum(1.0, 2 * counts), dtype=np.float64)


def _read(part: Slice) -> str | Finding:
    """The text of a slice, or the finding that says why it could not be read."""
    try:
        with open_inside(part.root, part.path) as source:
            source.seek(part.start)
            raw = source.read(part.end - part.start)
            status = os.fstat(source.fileno())
    except OSError as error:
        return Finding(skipped=f"could not be read any more ({(error.strerror or type(error).__name__).lower()})")
    if (status.st_size, status.st_mtime_ns) != (part.file_bytes, part.modified_ns) or len(raw) != part.end - part.start:
        return Finding(skipped="changed after it was listed")
    if b"\0" in raw:
        return Finding(skipped="binary")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Finding(skipped="not UTF-8")
