"""A file of tasks: every line is a task or says why not, and none hinders the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symfonic_ray.bulk import BulkTask, TaskFile

LONGEST_BYTES = 200


def task_file(folder: Path, *lines: bytes | str) -> TaskFile:
    """A file of the given lines."""
    path = folder / "tasks.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return TaskFile(path, longest_bytes=LONGEST_BYTES)


def only(folder: Path, line: bytes | str) -> BulkTask:
    """The one task of a file of one line."""
    (task,) = task_file(folder, line).read()
    return task


@pytest.mark.parametrize(
    ("line", "text", "given_id"),
    [
        ('"read a.txt"', "read a.txt", None),
        ('{"path": "ä"}', '{"path": "ä"}', None),
        ("[1, 2]", "[1, 2]", None),
        ('{"id": 7, "task": "go"}', "go", 7),
        ('{"task": {"a": 1}, "id": ["x", null]}', '{"a": 1}', ["x", None]),
        ('{"id": 7, "task": "go", "more": 1}', '{"id": 7, "task": "go", "more": 1}', None),
        ('{"task": "go"}', '{"task": "go"}', None),
        ('  "spaces around"  ', "spaces around", None),
    ],
)
def test_a_line_becomes_a_task_with_its_text_and_its_id(tmp_path: Path, line: str, text: str, given_id: object) -> None:
    assert only(tmp_path, line) == BulkTask(index=0, line=1, id=given_id, text=text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{broken", "is not JSON (at character 2"),
        ('{"id": 1, "task": "a", "task": "b"}', "gives the key 'task' twice"),
        ('{"a": {"b": 1, "b": 2}}', "gives the key 'b' twice"),
        ("[1e999]", "holds 1e999, which is out of range"),
        ("5", "is 5, which is no task"),
        ("null", "is null, which is no task"),
        ('{"id": 3, "task": true}', "is true, which is no task"),
        ("[NaN]", "holds NaN, which is not a JSON number"),
        (b'"\xff"', "is not UTF-8 text (its byte 2)"),
        ("[" * 100_000, "is longer than 200 bytes"),
        ('"' + "a" * 300 + '"', "is longer than 200 bytes"),
    ],
    ids=[
        "cut off",
        "a task twice",
        "a key twice",
        "too large a number",
        "a number",
        "null",
        "an id and no task",
        "NaN",
        "not UTF-8",
        "deep",
        "long",
    ],
)
def test_a_line_that_is_no_task_says_why_with_its_number(tmp_path: Path, line: bytes | str, words: str) -> None:
    task = task_file(tmp_path, '"before"', line, '"after"').read()
    first, odd, last = task
    assert (first.text, last.text, last.index) == ("before", "after", 2)
    assert odd.problem.startswith("line 2 ")
    assert words in odd.problem


def test_json_that_is_nested_too_deeply_is_no_task(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text("[" * 100_000 + "]" * 100_000 + '\n"after"\n')
    deep, after = TaskFile(path, longest_bytes=1_000_000).read()
    assert "is nested too deeply" in deep.problem
    assert after.text == "after"


def test_a_task_without_an_id_that_is_malformed_keeps_the_id_it_has(tmp_path: Path) -> None:
    assert only(tmp_path, '{"id": "seven", "task": 7}').id == "seven"


def test_blank_lines_count_in_line_numbers_and_not_in_indexes(tmp_path: Path) -> None:
    tasks = list(task_file(tmp_path, "", '"a"', "   ", '"b"', "").read())
    assert [(task.index, task.line, task.text) for task in tasks] == [(0, 2, "a"), (1, 4, "b")]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_task(tmp_path: Path) -> None:
    tasks = task_file(tmp_path, b'\xef\xbb\xbf"a"\r', b'"b"\r').read()
    assert [task.text for task in tasks] == ["a", "b"]


def test_settled_tasks_are_left_out_and_the_others_keep_their_indexes(tmp_path: Path) -> None:
    tasks = task_file(tmp_path, '"a"', "{broken", '"c"').read({0, 1})
    assert [(task.index, task.text) for task in tasks] == [(2, "c")]


def test_the_survey_counts_what_reading_gives(tmp_path: Path) -> None:
    tasks = task_file(tmp_path, '"a"', "", "{broken", '"' + "x" * 900 + '"', '"b"')
    assert tasks.survey().total == len(list(tasks.read())) == 4


def test_the_survey_s_digest_changes_with_any_byte(tmp_path: Path) -> None:
    digests = {task_file(tmp_path, *lines).survey().digest for lines in (['"a"'], ['"b"'], ['"a"', ""], ['"a" '])}
    assert len(digests) == 4


def test_two_tasks_share_a_digest_only_when_their_texts_are_equal(tmp_path: Path) -> None:
    one, other, third = task_file(tmp_path, '"a"', '{"id": 1, "task": "a"}', '"\\ud800"').read()
    assert one.digest == other.digest != third.digest


def test_reading_keeps_nothing_of_the_lines_it_has_read(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(f"task {number}") + "\n" for number in range(50_000)))
    tasks = TaskFile(path, longest_bytes=LONGEST_BYTES)
    tracemalloc.start()
    try:
        assert sum(1 for _ in tasks.read()) == 50_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
