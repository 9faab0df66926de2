"""Jobs on a real head with token auth: what a platform engineer relies on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import ROOT, Head, processes_of

COMMAND_SECONDS = 110
TASKS = 500
FLEET_NAME = "submitted-fleet"

CHILD = """
import asyncio
import json
import os

from symfonic_ray.delegation import current_fleet

from actors.words import told


class Relay:
    async def run(self, query, **context):
        if query.startswith("slow"):
            await asyncio.sleep(0.1)
            return query
        answers = {"relay": told(query, context["agent_depth"])}
        for name in ("leaf", "other"):
            record = await current_fleet().delegate(name, query)
            assert record.outcome.delivered, record.message
            answers[name] = json.loads(record.message)
        return json.dumps(answers)


class Leaf:
    async def run(self, query, **context):
        return json.dumps(told(query, context["agent_depth"]))


def relay(scope):
    return Relay()


def leaf(scope):
    return Leaf()
"""
WORDS = """
import os


def told(query, depth):
    return [query, depth, os.environ.get("DB"), os.environ.get("LOG")]
"""
FLEET = f"""\
version: 1
name: {FLEET_NAME}
entry: relay
max_depth: 2
children:
  - name: relay
    description: hands on to the two others
    build: actors.child:relay
    placement:
      concurrency: 4
      delegates_to: [leaf, other]
      runtime_env: {{env_vars: {{LOG: "1"}}}}
  - name: leaf
    description: tells what it sees
    build: actors.child:leaf
    placement:
      concurrency: 4
      runtime_env: {{env_vars: {{LOG: "1"}}}}
  - name: other
    description: tells what it sees
    build: actors.child:leaf
    placement:
      concurrency: 4
      runtime_env: {{env_vars: {{LOG: "1", DB: of-the-child}}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "actors").mkdir(parents=True)
    (root / "actors/__init__.py").write_text("")
    (root / "actors/child.py").write_text(CHILD)
    (root / "actors/words.py").write_text(WORDS)
    (root / "fleet.yaml").write_text(FLEET)
    return root


def command(head: Head, project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``symfonic-ray submit`` as a user calls it, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "symfonic_ray.cli", "submit", *words, "--address", head.address],
        cwd=project,
        env=head.environment | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )


def written(project: Path, prefix: str) -> Path:
    """A file of tasks beside the project."""
    path = project.parent / "tasks.jsonl"
    path.write_text("".join(json.dumps(f"{prefix}{number}") + "\n" for number in range(TASKS)))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tasks_end_delivered_and_every_child_sees_its_modules_and_the_merged_environment(
    head: Head, project: Path
) -> None:
    done = command(
        head, project, "fleet.yaml", "--tasks", str(written(project, "t")), "--child", "relay", "-o", "results.jsonl",
        "--env-json", '{"DB": "of-the-job"}', "--secret-env", "CLUSTER_SECRET", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ending = json.loads(done.stdout)
    assert (ending["status"], ending["outcome"], ending["delivered"]) == ("SUCCEEDED", "delivered", TASKS)
    found = lines(project / "results.jsonl")
    assert len(found) == TASKS
    for result in found:
        task = f"t{result['index']}"
        assert json.loads(result["message"]) == {
            "relay": [task, 1, "of-the-job", "1"],
            "leaf": [task, 2, "of-the-job", "1"],
            "other": [task, 2, "of-the-child", "1"],
        }
    assert "of-the-job" not in done.stderr
    assert "from-the-cluster" not in done.stderr
    log = command(head, project, "logs", ending["id"]).stdout
    assert json.loads(log.splitlines()[-1])["delivered"] == TASKS
    assert "of-the-job" not in log


def test_a_question_is_answered_on_stdout_and_the_tree_is_in_the_log(head: Head, project: Path) -> None:
    (project / "notes").mkdir()
    (project / "notes/a.txt").write_text("Visitors may come at noon.")
    done = command(head, project, "fleet.yaml", "--ask", "When?", "--input", "notes", "--env-json", '{"DB": "job-db"}')
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [name for name in answers if json.loads(answers[name][0])["question"] == "When?"] == [
        "relay",
        "leaf",
        "other",
    ]
    assert answers["leaf"][2:] == ["job-db", "1"]
    assert "leaf" in done.stderr


def test_a_stopped_job_keeps_what_it_has_and_leaves_no_process(head: Head, project: Path) -> None:
    tasks = str(written(project, "slow"))
    words = ("fleet.yaml", "--tasks", tasks, "--child", "relay", "--no-wait", "--submission-id", "stopped-job")
    assert command(head, project, *words).stdout == "stopped-job\n"
    kept = head.folder / "session_latest/logs/symfonic-ray-stopped-job-results.jsonl"
    deadline = time.monotonic() + 60
    while not (kept.exists() and kept.stat().st_size > 2000) and time.monotonic() < deadline:
        time.sleep(0.1)
    stopped = command(head, project, "stop", "stopped-job", "--json")
    assert stopped.returncode == 0, stopped.stderr
    ending = json.loads(stopped.stdout)
    assert (ending["status"], ending["outcome"], ending["exit_code"]) == ("STOPPED", "cancelled", 130)
    fetched = command(head, project, "results", "stopped-job", "-o", "partial.jsonl")
    assert fetched.returncode == 0, fetched.stderr
    found = lines(project / "partial.jsonl")
    assert 0 < len(found) < TASKS
    assert ending["total"] == len(found)
    deadline = time.monotonic() + 20
    while (left := processes_of(f"symfonic-ray {FLEET_NAME} ") | processes_of("submit_job stopped-job")) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    assert not left
    log = command(head, project, "logs", "stopped-job").stdout
    assert json.loads(log.splitlines()[-1])["outcome"] == "cancelled"


def test_a_variable_that_the_cluster_lacks_ends_the_job_with_its_name(head: Head, project: Path) -> None:
    tasks = str(written(project, "t"))
    done = command(head, project, "fleet.yaml", "--tasks", tasks, "--child", "relay", "--secret-env", "NOT_THERE")
    assert done.returncode == 2, done.stderr
    assert "the cluster's environment holds no NOT_THERE" in done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"RAY_AUTH_MODE": "disabled"}, "asks for a token (401)"),
        ({"RAY_AUTH_TOKEN": "0" * 32}, "does not accept this token (403)"),
    ],
    ids=["no token", "a wrong token"],
)
def test_who_has_no_right_token_is_told_so(head: Head, project: Path, given: dict[str, str], words: str) -> None:
    refused = command(head, project, "status", "any", **given)
    assert refused.returncode == 4, refused.stderr
    assert words in refused.stderr
    assert "RAY_AUTH_MODE=token" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_job_that_nobody_submitted_is_told_apart(head: Head, project: Path) -> None:
    asked = command(head, project, "status", "nobody")
    assert asked.returncode == 4
    assert "the cluster knows no such job" in asked.stderr
    assert os.linesep not in asked.stderr.strip()
