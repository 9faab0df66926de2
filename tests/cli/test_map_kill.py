"""``symfonic-ray map`` on a real Ray: killed with -9 in the middle, resumed, and nothing delivered twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
START_SECONDS = 100.0
TASKS = 2000
IN_FLIGHT = 32

pytestmark = pytest.mark.timeout(300)

CHILD = """
import asyncio
import os


class Writer:
    def __init__(self):
        self.effects = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    async def run(self, query):
        os.write(self.effects, (query + "\\n").encode())
        await asyncio.sleep(0.02)
        return "wrote " + query


def build(scope):
    return Writer()
"""
FLEET = """\
version: 1
name: effects
entry: writer
children:
  - {name: writer, description: writes, build: "writers:build", placement: {concurrency: 32, idempotent: IDEMPOTENT}}
"""


class Job:
    """A fleet whose child leaves a line in a file for every run, and a file of tasks."""

    def __init__(self, folder: Path, *, tasks: int = TASKS, idempotent: bool = False) -> None:
        self.folder = folder
        (folder / "actors").mkdir(exist_ok=True)
        (folder / "writers.py").write_text(CHILD)
        (folder / "fleet.yaml").write_text(FLEET.replace("IDEMPOTENT", str(idempotent).lower()))
        (folder / "tasks.jsonl").write_text("".join(f'{{"id": {n}, "task": "t{n}"}}\n' for n in range(tasks)))
        self.results = folder / "out.jsonl"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.environment |= {"PYTHONPATH": str(ROOT), "EFFECTS": str(folder / "effects")}
        self.environment["SYMFONIC_RAY_STATE"] = str(folder / "state")

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "symfonic_ray.cli", "map", "fleet.yaml", "writer", "tasks.jsonl"]
        return subprocess.Popen(
            [*command, "-o", "out.jsonl", "--journal", "job.journal", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
        )

    def ended(self, *options: str) -> dict[str, Any]:
        """What a run that is left alone says."""
        process = self.start(*options)
        out, err = process.communicate(timeout=START_SECONDS + 60)
        assert process.returncode == ExitCode.DELIVERED, err
        told: dict[str, Any] = json.loads(out)
        return told

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def count(self) -> int:
        return self.results.read_bytes().count(b"\n") if self.results.exists() else 0

    def effects(self) -> Counter[str]:
        return Counter((self.folder / "effects").read_text().split())

    def interrupt(self, number: signal.Signals, *, at: int) -> subprocess.Popen[str]:
        """Start a run and send it a signal once there are ``at`` results."""
        process = self.start()
        assert wait_until(lambda: self.count() >= at or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, process.communicate()[1]
        process.send_signal(number)
        return process


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.01)
    return True


def test_a_killed_job_goes_on_and_delivers_nothing_twice(tmp_path: Path) -> None:
    job = Job(tmp_path)
    killed = job.interrupt(signal.SIGKILL, at=TASKS // 3)
    killed.communicate(timeout=30)
    assert killed.returncode == -signal.SIGKILL
    acknowledged = {line["index"] for line in job.lines()}

    told = job.ended()
    lines = job.lines()
    assert [n for n, count in Counter(line["index"] for line in lines).items() if count != 1] == []
    assert len(lines) == told["total"] == TASKS
    assert told["handed_over"] < TASKS - TASKS // 3
    unknown = {line["index"] for line in lines if line["outcome"] == "unknown"}
    assert len(unknown) <= IN_FLIGHT
    assert not unknown & acknowledged
    assert {line["outcome"] for line in lines} <= {"delivered", "unknown"}
    effects = job.effects()
    assert max(effects.values()) == 1
    assert {f"t{line['index']}" for line in lines if line["outcome"] == "delivered"} <= set(effects)

    told = job.ended("--rerun-unknown", "--ordered")
    lines = job.lines()
    assert told["outcome"] == "delivered"
    assert told["handed_over"] == len(unknown)
    assert [(line["index"], line["id"], line["message"]) for line in lines] == [
        (n, n, f"wrote t{n}") for n in range(TASKS)
    ]
    effects = job.effects()
    assert len(effects) == TASKS
    assert {task for task, count in effects.items() if count > 1} <= {f"t{index}" for index in unknown}


def test_unknown_tasks_of_an_idempotent_child_run_again_unasked(tmp_path: Path) -> None:
    job = Job(tmp_path, tasks=400, idempotent=True)
    job.interrupt(signal.SIGKILL, at=100).communicate(timeout=30)
    assert job.ended()["by_outcome"] == {"delivered": 400}
    assert sorted(line["index"] for line in job.lines()) == list(range(400))


def test_an_interrupted_job_keeps_its_results_and_can_go_on(tmp_path: Path) -> None:
    job = Job(tmp_path, tasks=600)
    process = job.interrupt(signal.SIGINT, at=150)
    out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.CANCELLED, err
    assert "Traceback" not in err
    told = json.loads(out)
    assert told["outcome"] == "cancelled"
    assert told["delivered"] == len(job.lines()) >= 150
    told = job.ended("--rerun-unknown")
    assert told["delivered"] == 600
    assert sorted(line["index"] for line in job.lines()) == list(range(600))
