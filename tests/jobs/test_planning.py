"""The command before anything is uploaded: what it plans, and what it refuses. No cluster is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.submit_following import ending_of, follow, say_unless_outcome
from symfonic_ray.jobs import outcome_line
from symfonic_ray.jobs.client import JobState

FLEET = """\
version: 1
name: readers
entry: reader
children:
  - {name: reader, description: reads, build: "planned_project.reader:build"}
  - {name: writer, description: writes, build: "planned_project.reader:build"}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "planned_project").mkdir(parents=True)
    (root / "planned_project/reader.py").write_text("def build(scope):\n    return scope\n")
    (root / "fleet.yaml").write_text(FLEET)
    (root / "tasks.jsonl").write_text('"a"\n')
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root))
    return root


def large(path: Path, megabytes: int) -> None:
    """A file of that size that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(megabytes * 1_000_000)


TASKS = ("submit", "fleet.yaml", "--tasks", "tasks.jsonl", "--child", "reader")


def test_a_dry_run_tells_what_is_sent_and_what_stays_at_home_and_no_value(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    large(project / ".git/pack", 150)
    large(project / "data/all.bin", 60)
    words = (*TASKS, "--dry-run", "--env-json", '{"DB": "hunter2"}', "--secret-env", "OPENAI_API_KEY")
    assert main(words) == 0
    said = capfd.readouterr()
    assert "150.0 MB  .git/ (version control)" in said.out
    assert "60.0 MB  data/all.bin (over 20.0 MB)" in said.out
    assert "DB, RAY_JOB_STOP_WAIT_TIME_S" in said.out
    assert "OPENAI_API_KEY" in said.out
    assert "hunter2" not in said.out + said.err
    assert main((*words, "--json")) == 0
    plan = json.loads(capfd.readouterr().out)
    assert [left["name"] for left in plan["left_out"]] == [".git/", "data/all.bin"]
    assert (plan["environment"], plan["secrets"]) == (["DB", "RAY_JOB_STOP_WAIT_TIME_S"], ["OPENAI_API_KEY"])
    assert plan["entrypoint"].endswith("map fleet.yaml reader .symfonic-ray-tasks.jsonl --scope local")
    assert "hunter2" not in json.dumps(plan)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("fleet.yaml", "--dry-run"), "give --ask TEXT or --tasks FILE"),
        (("fleet.yaml", "--ask", "x", "--tasks", "tasks.jsonl", "--dry-run"), "give --ask TEXT or --tasks FILE"),
        (("fleet.yaml", "--tasks", "tasks.jsonl", "--child", "reader"), "give --address http://HEAD:8265"),
        (("fleet.yaml", "--tasks", "tasks.jsonl", "--dry-run"), "name one of reader, writer"),
        (("fleet.yaml", "--tasks", "tasks.jsonl", "--child", "x", "--dry-run"), "'x' is not in this fleet"),
        (("fleet.yaml", "--tasks", "none.jsonl", "--child", "reader", "--dry-run"), "tasks none.jsonl: is no file"),
        (("fleet.yaml", "--ask", "x", "--dry-run"), "give --input PATH"),
        (("fleet.yaml", "--ask", "x", "--input", "/etc", "--dry-run"), "is not in the working dir"),
        ((*TASKS[1:], "--dry-run", "-o", "tasks.jsonl"), "is there already"),
        ((*TASKS[1:], "--dry-run", "--submission-id", "a b"), "is no id"),
        ((*TASKS[1:], "--dry-run", "--working-dir", "planned_project"), "is not in the working dir"),
        ((*TASKS[1:], "--address", "127.0.0.1:6379"), "give it as http://HEAD:8265"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_refused_in_one_line(
    project: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    assert main(("submit", *words)) == 2
    said = capfd.readouterr().err
    assert problem in said
    assert "Traceback" not in said


def test_a_working_dir_over_the_limit_is_refused_before_the_cluster_is_asked(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        large(project / f"data/part{number}.bin", 19)
    assert main((*TASKS, "--address", "http://127.0.0.1:1", "--json")) == 2
    said = capfd.readouterr()
    assert "largest folders: data/ 114.0 MB" in said.err
    assert json.loads(said.out)["outcome"] == "invalid"


def test_a_cluster_that_is_not_there_is_told_with_exit_code_4(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symfonic_ray.jobs.client.AGAIN_SECONDS", 0.0)
    assert main((*TASKS, "--address", "http://127.0.0.1:1", "--json")) == 4
    said = capfd.readouterr()
    assert "http://127.0.0.1:1: nothing answers there" in said.err
    assert json.loads(said.out)["exit_code"] == 4


class Growing:
    """A cluster whose one job writes a line between two looks."""

    def __init__(self, *logs: str, status: str = "SUCCEEDED") -> None:
        self.logs, self.status, self.looks = logs, status, 0

    def state(self, job: str) -> JobState:
        self.looks += 1
        status = self.status if self.looks >= len(self.logs) else "RUNNING"
        return JobState(id=job, status=status, message="", exit_code=None, error_type=None, node_id="n")

    def log(self, job: str) -> str:
        return self.logs[min(self.looks, len(self.logs)) - 1]


def test_a_log_is_written_line_by_line_once_each() -> None:
    cluster: Any = Growing("a\nb", "a\nb\u2028c\n", "a\nb\u2028c\n\nlast")
    written: list[str] = []
    assert follow(cluster, "job", written.append, pause=lambda seconds: None).status == "SUCCEEDED"
    assert written == ["a", "b\u2028c", "", "last"]


def test_the_outcome_is_not_among_the_words(capfd: pytest.CaptureFixture[str]) -> None:
    say_unless_outcome("reader delivered")
    say_unless_outcome(outcome_line({"outcome": "delivered"}, exit_code=0, results_log=None))
    assert capfd.readouterr().err == "reader delivered\n"


@pytest.mark.parametrize(
    ("log", "status", "outcome", "code"),
    [
        (outcome_line({"outcome": "partial"}, exit_code=5, results_log=None), "FAILED", "partial", 5),
        ("killed", "FAILED", "failed", 1),
        ("killed", "STOPPED", "cancelled", 130),
    ],
)
def test_an_ending_is_the_job_s_own_last_line_or_what_the_cluster_knows(
    log: str, status: str, outcome: str, code: int
) -> None:
    cluster: Any = Growing(log, status=status)
    ending = ending_of(cluster, cluster.state("job"))
    assert (ending["outcome"], ending["exit_code"], ending["status"]) == (outcome, code, status)
