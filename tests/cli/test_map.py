"""``symfonic-ray map`` without Ray: results, table, JSON object, exit codes, and what is refused before a start."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.mapping import reduced
from symfonic_ray.compose import FleetOpenError
from symfonic_ray.config import load_fleet
from tests.cli.conftest import Project

Open = Callable[..., list[str]]
ROOT = Path(__file__).parents[2]


class Mapped:
    """A project, a file of tasks for its child ``reader``, and what the child saw."""

    def __init__(self, project: Project, opened: Open, capfd: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self.seen: Counter[str] = Counter()
        self.asked = opened({"reader": self.read})
        self.tasks = project.root / "tasks.jsonl"
        self.results = project.root / "results.jsonl"
        self.journal = project.root / "job.journal"
        self.out = self.err = ""
        self._capfd = capfd

    async def read(self, task: str) -> str:
        """Reads."""
        self.seen[task] += 1
        if task.startswith("fail"):
            raise ValueError("no [bold]such[/bold] thing")
        await asyncio.sleep(0)
        return f"read {task}"

    def write(self, *values: Any) -> None:
        """Replace the tasks."""
        self.tasks.write_text(
            "".join(v if isinstance(v, str) and v[-1:] == "\n" else json.dumps(v) + "\n" for v in values)
        )

    def run(self, *options: str) -> int:
        """Map the tasks; ``out`` and ``err`` are what was printed."""
        return self.call(str(self.project.fleet_file), "reader", str(self.tasks), "-o", str(self.results), *options)

    def call(self, *arguments: str) -> int:
        """Call the command as it is given."""
        code = main(["map", *arguments])
        self.out, self.err = self._capfd.readouterr()
        return code

    def lines(self) -> list[dict[str, Any]]:
        """The results on disk."""
        return [json.loads(line) for line in self.results.read_text().splitlines()]


@pytest.fixture
def mapped(project: Project, opened: Open, capfd: pytest.CaptureFixture[str]) -> Mapped:
    return Mapped(project, opened, capfd)


def test_every_task_becomes_one_line_of_results(mapped: Mapped) -> None:
    mapped.write("a", {"id": "b", "task": "B"}, {"page": 3})
    assert mapped.run("--scope", "acme") == ExitCode.DELIVERED
    lines = sorted(mapped.lines(), key=lambda line: line["index"])
    assert [line["message"] for line in lines] == ["read a", "read B", 'read {"page": 3}']
    assert [line["id"] for line in lines] == [None, "b", None]
    assert {line["outcome"] for line in lines} == {"delivered"}
    assert all(line["run_id"] and line["seconds"] > 0 for line in lines)
    assert mapped.asked == ["readers acme None", "closed"]


def test_the_table_goes_to_stdout_and_everything_else_to_stderr(mapped: Mapped) -> None:
    mapped.write("a", "fail", "{broken\n")
    assert mapped.run() == ExitCode.DELIVERED
    table = mapped.out
    assert re.search(r"^delivered +1$", table, re.M)
    assert re.search(r"^child_failed +1$", table, re.M)
    assert re.search(r"^ +malformed +1$", table, re.M)
    assert re.search(r"^seconds a task +p50 0\.\d+  p90 0\.\d+  p99 0\.\d+$", table, re.M)
    assert len(re.findall(r"index \d", table)) == 2  # the slowest: the malformed line never ran
    assert "a line that Ray prints" not in table
    assert "3 of 3 done, 2 failed" in mapped.err
    assert "2 of 3 tasks were not delivered" in mapped.err


def test_with_json_stdout_is_one_object_with_the_same_facts(mapped: Mapped) -> None:
    mapped.write("a", "b", {"id": 7, "task": "fail"}, "{broken\n")
    assert mapped.run("--json") == ExitCode.DELIVERED
    told = json.loads(mapped.out)
    assert told["schema_version"] == 1
    assert told["outcome"] == "partial"
    assert (told["total"], told["delivered"], told["handed_over"]) == (4, 2, 4)
    assert told["by_outcome"] == {"delivered": 2, "child_failed": 1, "invalid": 1}
    assert told["by_reason"] == {"exception": 1, "malformed": 1}
    assert set(told["seconds_per_task"]) == {"p50", "p90", "p99"}
    assert len(told["slowest"]) == 3
    assert told["results"] == str(mapped.results)
    assert told["tasks_per_second"] > 0


@pytest.mark.parametrize(
    ("tasks", "options", "code", "outcome"),
    [
        (["a", "b"], [], ExitCode.DELIVERED, "delivered"),
        (["a", "b"], ["--strict"], ExitCode.DELIVERED, "delivered"),
        (["a", "fail"], [], ExitCode.DELIVERED, "partial"),
        (["a", "fail"], ["--strict"], ExitCode.PARTIAL, "partial"),
        (["fail", "fail 2"], [], ExitCode.FAILED, "failed"),
        (["{broken\n"], ["--strict"], ExitCode.FAILED, "failed"),
        ([], [], ExitCode.DELIVERED, "delivered"),
    ],
    ids=["all", "all, strict", "some", "some, strict", "none", "no task among the lines", "no lines"],
)
def test_the_exit_code_tells_how_much_was_delivered(
    mapped: Mapped, tasks: list[Any], options: list[str], code: ExitCode, outcome: str
) -> None:
    mapped.write(*tasks)
    assert mapped.run("--json", *options) == code
    assert json.loads(mapped.out)["outcome"] == outcome


def test_results_are_in_task_order_when_that_is_asked_for(mapped: Mapped) -> None:
    mapped.write(*(f"task {number}" for number in range(40)))
    assert mapped.run("--ordered", "--in-flight", "8") == ExitCode.DELIVERED
    assert [line["index"] for line in mapped.lines()] == list(range(40))


def test_results_that_exist_are_not_written_over_without_force(mapped: Mapped) -> None:
    mapped.write("a")
    mapped.results.write_text("precious")
    assert mapped.run("--json") == ExitCode.USAGE
    assert "--force" in json.loads(mapped.out)["message"]
    assert mapped.results.read_text() == "precious"
    assert mapped.asked == []
    assert mapped.run("--force") == ExitCode.DELIVERED
    assert [line["message"] for line in mapped.lines()] == ["read a"]


def test_more_in_flight_than_the_fleet_admits_is_brought_down_and_said(mapped: Mapped) -> None:
    mapped.write("a")
    assert mapped.run("--in-flight", "5000") == ExitCode.DELIVERED
    assert "--in-flight 5000 is 32" in mapped.err
    assert "max_in_flight_per_scope" in mapped.err


def test_a_task_may_take_so_long_and_no_longer(
    project: Project, opened: Open, capfd: pytest.CaptureFixture[str]
) -> None:
    mapped = Mapped(project, opened, capfd)

    async def sleep(task: str) -> str:
        await asyncio.sleep(0 if task == "quick" else 60)
        return "awake"

    opened({"reader": sleep})
    mapped.write("slow", "quick")
    assert mapped.run("--timeout", "0.1") == ExitCode.DELIVERED
    assert {line["index"]: line["reason"] for line in mapped.lines()} == {0: "timeout", 1: ""}


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({"child": "reder"}, [], "no child is named 'reder'; "),
        ({"tasks": "none.jsonl"}, [], "none.jsonl does not exist"),
        ({"tasks": "notes"}, [], "is a folder"),
        ({"results": "none/results.jsonl"}, [], "does not exist; make it first"),
        ({"results": "tasks.jsonl"}, ["--force"], "are not three files"),
        ({}, ["--rerun-unknown"], "--rerun-unknown goes on with an earlier run"),
        ({}, ["--retry-failed"], "--retry-failed goes on with an earlier run"),
        ({}, ["--in-flight", "0"], "--in-flight"),
        ({}, ["--timeout", "nan"], "--timeout"),
        ({}, ["--journal", "notes"], "no journal can be kept"),
    ],
    ids=[
        "an unknown child",
        "no tasks",
        "a folder of tasks",
        "no folder for results",
        "results over tasks",
        "unknown without a journal",
        "retry without a journal",
        "no window",
        "no time",
        "a folder as journal",
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_anything_starts(
    mapped: Mapped,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    options: list[str],
    words: str,
) -> None:
    mapped.write("a")
    monkeypatch.chdir(mapped.project.root)
    given = {"child": "reader", "tasks": "tasks.jsonl", "results": "results.jsonl"} | changed
    arguments = [str(mapped.project.fleet_file), given["child"], given["tasks"], "-o", given["results"], *options]
    assert mapped.call(*arguments) == ExitCode.USAGE
    assert mapped.asked == []
    assert words in " ".join(mapped.err.split())
    assert mapped.tasks.read_text() == '"a"\n'


def test_problems_of_the_fleet_file_are_all_told(mapped: Mapped) -> None:
    mapped.write("a")
    mapped.project.write("version: 1\nname: readers\n")
    assert mapped.run("--json") == ExitCode.USAGE
    told = json.loads(mapped.out)
    assert told["outcome"] == "invalid"
    assert len(told["problems"]) >= 1


@pytest.mark.parametrize(
    ("stage", "code"), [("unreachable", ExitCode.UNREACHABLE), ("build", ExitCode.FAILED), ("limits", ExitCode.USAGE)]
)
def test_a_fleet_that_does_not_open_leaves_the_results_of_before(
    mapped: Mapped, opened: Open, stage: Any, code: ExitCode
) -> None:
    opened({}, raising=FleetOpenError(stage, "it did not open"))
    mapped.write("a")
    mapped.results.write_text("old")
    assert mapped.run("--force") == code
    assert "it did not open" in mapped.err
    assert mapped.results.read_text() == "old"


def test_a_second_call_with_the_journal_runs_nothing_again_and_starts_no_fleet(mapped: Mapped) -> None:
    mapped.write("a", "fail", "{broken\n")
    assert mapped.run("--journal", str(mapped.journal)) == ExitCode.DELIVERED
    first = sorted(mapped.lines(), key=lambda line: line["index"])
    mapped.asked.clear()
    mapped.results.unlink()
    assert mapped.run("--journal", str(mapped.journal), "--json") == ExitCode.DELIVERED
    assert mapped.asked == []
    assert mapped.lines() == first
    assert mapped.seen == {"a": 1, "fail": 1}
    told = json.loads(mapped.out)
    assert (told["total"], told["delivered"], told["handed_over"]) == (3, 1, 0)


def test_what_failed_runs_again_only_with_retry_failed(mapped: Mapped) -> None:
    mapped.write("a", "fail", "c")
    mapped.run("--journal", str(mapped.journal))
    mapped.run("--journal", str(mapped.journal), "--retry-failed")
    assert mapped.seen == {"a": 1, "fail": 2, "c": 1}
    assert sorted(line["index"] for line in mapped.lines()) == [0, 1, 2]


def test_a_journaled_job_that_is_ordered_ends_in_order_though_it_was_resumed(mapped: Mapped) -> None:
    mapped.write("fail first", "b", "fail", "d")
    mapped.run("--journal", str(mapped.journal))
    mapped.run("--journal", str(mapped.journal), "--retry-failed", "--ordered")
    assert [line["index"] for line in mapped.lines()] == [0, 1, 2, 3]


def test_a_journal_of_other_tasks_is_refused_plainly_and_left_alone(mapped: Mapped) -> None:
    mapped.write("a")
    mapped.run("--journal", str(mapped.journal))
    before = mapped.journal.read_bytes(), mapped.results.read_text()
    mapped.write("b")
    assert mapped.run("--journal", str(mapped.journal), "--json") == ExitCode.USAGE
    assert "belongs to another job" in json.loads(mapped.out)["message"]
    assert (mapped.journal.read_bytes(), mapped.results.read_text()) == before


def test_a_resumed_job_does_not_replace_results_that_are_not_its_own(mapped: Mapped) -> None:
    mapped.write("a", "fail")
    mapped.run("--journal", str(mapped.journal))
    mapped.results.write_text("precious\n")
    assert mapped.run("--journal", str(mapped.journal), "--retry-failed") == ExitCode.USAGE
    assert mapped.results.read_text() == "precious\n"


def test_only_the_child_and_what_it_hands_work_to_are_started(project: Project) -> None:
    project.write("""\
version: 1
name: many
entry: a
children:
  - {name: a, description: a, build: "PACKAGE.parent:build", placement: {delegates_to: [b]}}
  - {name: b, description: b, build: "PACKAGE.parent:build", placement: {delegates_to: [c, a]}}
  - {name: c, description: c, build: "PACKAGE.parent:build"}
  - {name: d, description: d, build: "PACKAGE.parent:build"}
""")
    config = load_fleet(project.fleet_file)
    assert [child.name for child in reduced(config, "a").children] == ["a", "b", "c"]
    assert list(reduced(config, "d").placements) == ["d"]


@pytest.mark.parametrize("command", ["map", "bench"])
def test_the_help_shows_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == ExitCode.DELIVERED
    help_text = capfd.readouterr().out
    assert f"  symfonic-ray {command} " in help_text


def test_the_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from symfonic_ray.cli import main; main(['map', '--help']); "
        "print([*{'ray', 'numpy'} & {*sys.modules}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_a_map_is_a_run_that_can_be_looked_at_afterwards(mapped: Mapped) -> None:
    mapped.write("a", "fail b", "c")
    assert mapped.run() == ExitCode.DELIVERED
    (said,) = [line for line in mapped.err.splitlines() if line.startswith("recorded: ")]
    run_id = said.split()[-1]
    assert main(["runs", "show", run_id, "--json"]) == ExitCode.DELIVERED
    shown = json.loads(mapped._capfd.readouterr().out)["run"]
    assert (shown["command"], shown["hand_offs"], shown["failed"]) == ("map", 3, 1)
    assert mapped.run("--force", "--no-record") == ExitCode.DELIVERED
    assert "recorded: " not in mapped.err
