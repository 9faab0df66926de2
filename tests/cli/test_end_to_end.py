"""The command on a real local Ray, in a process of its own: answers, exit codes, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from symfonic_ray.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
START_SECONDS = 90.0  # a local Ray on a busy machine, with one retry
LEFT_SECONDS = 5.0
MARK = "SYMFONIC_RAY_TEST_MARK"

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes by their environment in /proc"),
]

SLEEPER = """
import asyncio
import os
import pathlib


class Sleeper:
    async def run(self, query):
        pathlib.Path(os.environ["SLEEPER_STARTED"]).touch()
        await asyncio.sleep(300)
        return "late"


def build(scope):
    return Sleeper()
"""
SLEEPER_FLEET = """\
version: 1
name: sleepers
entry: sleeper
children:
  - {name: sleeper, description: sleeps, build: "sleeping_kids:build"}
"""


@dataclass
class Command:
    """Runs the command; every process that it starts carries a mark in its environment."""

    mark: str
    environment: dict[str, str]

    def start(self, *arguments: str, folder: Path = ROOT) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "symfonic_ray.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=self.environment,
            start_new_session=True,
        )

    def processes(self) -> list[str]:
        """Command lines of the processes that carry the mark."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
        return found

    def assert_nothing_is_left(self) -> None:
        assert wait_until(lambda: not self.processes(), LEFT_SECONDS), self.processes()


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    mark = uuid.uuid4().hex
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"PYTHONPATH": str(ROOT), MARK: mark, "SLEEPER_STARTED": str(tmp_path / "started")}
    made = Command(mark, environment)
    yield made
    made.assert_nothing_is_left()


@pytest.fixture
def sleepers(tmp_path: Path) -> Path:
    """A fleet file whose child never answers."""
    (tmp_path / "fleet" / "actors").mkdir(parents=True)
    (tmp_path / "fleet" / "sleeping_kids.py").write_text(SLEEPER)
    fleet = tmp_path / "fleet" / "fleet.yaml"
    fleet.write_text(SLEEPER_FLEET)
    return fleet


def mixed_files(folder: Path) -> None:
    """Texts with two answers in them, and everything that a folder of a user's may hold beside them."""
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour ferry leaves at 7:15 from pier four.\nBring coins.\n")
    (folder / "deep" / "er" / "notes ü.txt").write_text(
        "About trains.\r\n\r\nThe last ferry leaves at 22:40.\r\n", newline=""
    )
    (folder / "empty.txt").touch()
    (folder / "picture.bin").write_bytes(b"\x89PNG\0\0" + os.urandom(2000))
    (folder / "latin.txt").write_bytes("Die Fähre fährt um 9.\n".encode("latin-1"))
    filler = "Nothing of interest was seen on this day, and the log says no more.\n"
    (folder / "large.log").write_text(filler * 80_000 + "A ferry leaves at noon on Sundays.\n")
    for number in range(20):
        (folder / f"page{number}.txt").write_text(f"Page {number} speaks of weather.\nIt rained.\n")


def test_every_quote_of_an_answer_stands_in_its_file_at_its_line(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    mixed_files(folder)
    arguments = ["--ask", "When does the ferry leave?", "--input", str(folder), "--scope", "acme", "--json"]
    process = command.start("run", str(ROOT / "configs" / "readers.yaml"), *arguments)
    out, err = process.communicate(timeout=START_SECONDS + 60)
    assert process.returncode == ExitCode.DELIVERED, err
    told = json.loads(out)
    assert told["outcome"] == "delivered"
    assert {"harbour.md", "deep/er/notes ü.txt", "large.log"} & {quote["file"] for quote in told["quotes"]}
    for quote in told["quotes"]:
        lines = (folder / quote["file"]).read_bytes().decode("utf-8").split("\n")
        assert quote["text"]
        assert quote["text"] in lines[quote["line"] - 1]
        assert quote["child"] == "reader"
    for name in ("empty.txt", "picture.bin", "latin.txt"):
        assert name in told["answer"]
    assert len(told["records"]) >= 23
    assert {record["outcome"] for record in told["records"]} == {"delivered"}
    assert {record["scope_key"] for record in told["records"]} == {"acme"}
    assert err.count("delivered  ") == len(told["records"])
    command.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_child_works_ends_all_of_it(command: Command, sleepers: Path, number: signal.Signals) -> None:
    process = command.start("run", str(sleepers), "--ask", "x", "--input", str(sleepers.parent), "--json")
    started = sleepers.parents[1] / "started"
    assert wait_until(started.exists, START_SECONDS)
    signalled_at = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=40)
    assert process.returncode == ExitCode.CANCELLED, err
    assert json.loads(out)["outcome"] == "cancelled"
    assert "interrupted" in err
    assert "Traceback" not in err
    assert time.monotonic() - signalled_at < 20
    command.assert_nothing_is_left()


def test_a_signal_while_ray_starts_leaves_nothing(command: Command, sleepers: Path) -> None:
    process = command.start("run", str(sleepers), "--ask", "x", "--input", str(sleepers.parent))
    assert wait_until(lambda: any("gcs_server" in line for line in command.processes()), START_SECONDS)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=START_SECONDS)
    assert process.returncode == ExitCode.CANCELLED, err
    assert "Traceback" not in err
    command.assert_nothing_is_left()


def test_a_deadline_is_kept_and_told(command: Command, sleepers: Path) -> None:
    process = command.start(
        "run", str(sleepers), "--ask", "x", "--input", ".", "--timeout", "1", folder=sleepers.parent
    )
    out, err = process.communicate(timeout=START_SECONDS + 40)
    assert process.returncode == ExitCode.DEADLINE, err
    assert out == ""
    command.assert_nothing_is_left()


def test_an_address_where_nothing_answers_is_told_within_the_bound(command: Command, sleepers: Path) -> None:
    arguments = ["--ask", "x", "--input", str(sleepers.parent), "--address", "127.0.0.1:1"]
    began_at = time.monotonic()
    process = command.start("run", str(sleepers), *arguments)
    out, err = process.communicate(timeout=40)
    assert process.returncode == ExitCode.UNREACHABLE, err
    assert "127.0.0.1:1" in err
    assert out == ""
    assert time.monotonic() - began_at < 10 + 5  # the bound, and Python's own start on a busy machine
