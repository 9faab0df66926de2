"""One reader, one slice: what it gives and what it refuses."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from actors import reader
from actors.assignment import Assignment, Finding
from actors.errors import AssignmentError, InputError
from actors.listing import Slice, listing
from actors.question import Question

QUESTION = "When is the dome open?"


def slice_of(path: Path) -> Slice:
    (part,) = listing(str(path))
    assert isinstance(part, Slice)
    return part


@pytest.fixture
def part(tmp_path: Path) -> Slice:
    (tmp_path / "a.md").write_text(
        "# The dome\n\nIt is open on Friday.\n\nThe dome is never open in May.\n\nBees fly.\n"
    )
    return slice_of(tmp_path / "a.md")


def found(part: Slice, question: str = QUESTION) -> Finding:
    text = reader.build("acme").run(Assignment(question, part).to_json()).final_response
    return Finding.from_json(text, terms=len(Question.of(question).terms))


def test_candidates_come_with_their_lines_best_first(part: Slice) -> None:
    lines = [[segment.line for segment in candidate.segments] for candidate in found(part).candidates]
    assert lines == [[5], [3], [7]]  # the last one for its heading alone


def test_the_counts_are_of_passages_that_say_the_term_themselves(part: Slice) -> None:
    finding = found(part)
    assert finding.passages == 3
    assert finding.document_frequency == (1, 2)  # dome, open


def test_a_reader_gives_at_most_24_candidates(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("".join(f"The dome is open on day {number}.\n\n" for number in range(99)))
    assert len(found(slice_of(tmp_path / "a.md")).candidates) == 24


def test_lines_count_from_the_first_line_of_the_slice(part: Slice) -> None:
    later = replace(part, first_line=101)
    assert found(later).candidates[0].segments[0].line == 105


def test_the_question_said_again_is_no_candidate(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("When is the dome open\n\nNobody knows the dome.\n")
    assert [c.segments[0].line for c in found(slice_of(tmp_path / "a.md")).candidates] == [3]


def test_the_name_of_the_file_counts_as_what_stands_around(tmp_path: Path) -> None:
    (tmp_path / "dome.md").write_text("It is open on Friday.\n")
    (candidate,) = found(slice_of(tmp_path / "dome.md")).candidates
    assert candidate.near[0] > 0


def test_a_question_of_stop_words_finds_nothing(part: Slice) -> None:
    assert found(part, "What is it?").candidates == ()


def test_a_file_that_changed_is_an_answer_that_says_so(part: Slice) -> None:
    Path(part.path).write_text("shorter")
    assert found(part) == Finding(skipped="changed after it was listed")


def test_a_file_of_the_same_size_and_another_time_has_changed(part: Slice) -> None:
    os.utime(part.path, ns=(1, 1))
    assert found(part).skipped == "changed after it was listed"


def test_a_file_that_vanished_is_an_answer_that_says_so(part: Slice) -> None:
    Path(part.path).unlink()
    assert found(part).skipped == "could not be read any more (no such file or directory)"


@pytest.mark.parametrize(("tail", "reason"), [(b"\xff", "not UTF-8"), (b"\0", "binary")], ids=["not utf-8", "nul"])
def test_a_file_that_is_no_text_behind_its_sniffed_head_is_an_answer_that_says_so(
    tmp_path: Path, tail: bytes, reason: str
) -> None:
    (tmp_path / "a.md").write_bytes(b"text\n" * 20_000 + tail)
    assert found(slice_of(tmp_path / "a.md")).skipped == reason


@pytest.mark.parametrize("file", ["../secret.md", "sub/../../secret.md", "link.md", "folder", "fifo"])
def test_a_task_about_anything_else_than_a_file_in_its_root_is_refused(tmp_path: Path, file: str) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "sub").mkdir()
    (tmp_path / "secret.md").write_text("The dome is open.")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(root / "fifo")
    part = Slice(root=str(root), file=file, start=0, end=17, file_bytes=17, modified_ns=0)
    with pytest.raises(AssignmentError):
        reader.build("acme").run(Assignment(QUESTION, part).to_json())


def test_an_absolute_name_is_looked_for_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.md").write_text("The dome is open.")
    part = replace(slice_of(tmp_path / "secret.md"), root=str(tmp_path / "root"), file=str(tmp_path / "secret.md"))
    assert found(part) == Finding(skipped="could not be read any more (no such file or directory)")


def changed(**fields: Any) -> str:
    part = Slice(root="/r", file="a.md", start=0, end=1, file_bytes=1, modified_ns=0)
    data = {"question": QUESTION, **asdict(part), **fields}
    return json.dumps({name: value for name, value in data.items() if value is not None})


@pytest.mark.parametrize(
    "task",
    [
        "read it please",
        "[]",
        "[" * 100_000,
        changed(question=None),
        changed(question=5),
        changed(start=True),
        changed(start=5),
        changed(start=-1),
        changed(first_line=0),
        changed(extra=1),
        changed(file="a\0b"),
    ],
    ids=["text", "list", "deep", "missing", "type", "bool", "backwards", "negative", "line 0", "unknown", "nul"],
)
def test_a_malformed_task_is_refused(task: str) -> None:
    with pytest.raises(AssignmentError):
        reader.build("acme").run(task)


CANDIDATE = {"segments": [{"line": 1, "text": "x"}], "own": [1.0], "near": [0.0], "characters": 1, "fits": True}


@pytest.mark.parametrize(
    "change",
    [
        {"own": [1.0, 2.0]},
        {"near": ["x"]},
        {"own": [float("nan")]},
        {"segments": []},
        {"segments": [[1, "x"]]},
        {"characters": 0},
        {"fits": 1},
    ],
    ids=lambda change: str(change)[:30],
)
def test_an_answer_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    whole = {"skipped": "", "passages": 1, "document_frequency": [1]}
    assert Finding.from_json(json.dumps({**whole, "candidates": [CANDIDATE]}), terms=1).passages == 1
    with pytest.raises(AssignmentError):
        Finding.from_json(json.dumps({**whole, "candidates": [{**CANDIDATE, **change}]}), terms=1)


@pytest.mark.parametrize(
    "error", [InputError("'x'", "is missing"), AssignmentError("it is odd")], ids=["input", "task"]
)
def test_errors_cross_a_process(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
