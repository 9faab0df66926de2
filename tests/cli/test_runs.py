"""``symfonic-ray runs`` on what ``run`` has recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.runs_stopping import ask_to_stop
from symfonic_ray.journal import RunStore, state_file
from tests.cli.conftest import Project

Opened = Callable[..., list[str]]
Output = pytest.CaptureFixture[str]


async def answers(task: str) -> str:
    return "forty two"


async def fails(task: str) -> str:
    raise OSError("disk gone")


CHILDREN = {"reader": answers, "broken": fails}


@pytest.fixture(autouse=True)
def recorded(project: Project, opened: Opened, capfd: Output) -> str:
    """The id of a run with one delivered hand-off and one that failed."""
    opened(CHILDREN)
    main(["run", str(project.fleet_file), "--ask", "reader broken", "--input", str(project.input), "--scope", "acme"])
    capfd.readouterr()
    return RunStore(state_file()).runs()[0].run_id


def printed(capfd: Output, *arguments: str) -> Any:
    assert main(["runs", *arguments, "--json"]) == ExitCode.DELIVERED
    return json.loads(capfd.readouterr().out)


def test_a_run_is_listed_with_its_outcome_and_failures(recorded: str, capfd: Output) -> None:
    (run,) = printed(capfd, "ls")["runs"]
    facts = {"run_id": recorded, "command": "run", "fleet": "readers", "scope": "acme", "outcome": "delivered"}
    assert {key: run[key] for key in facts} == facts
    assert (run["hand_offs"], run["failed"], run["question"]) == (2, 1, "reader broken")


def test_a_run_is_shown_by_the_beginning_of_its_id_failures_first(recorded: str, capfd: Output) -> None:
    assert main(["runs", "show", recorded[:8]]) == ExitCode.DELIVERED
    lines = capfd.readouterr().out.splitlines()
    assert lines[1].startswith("  broken  depth 1  child_failed")
    assert "disk gone" in lines[1]
    assert lines[2].startswith("  reader  depth 1  delivered")


def test_a_filter_leaves_the_rows_that_fit(recorded: str, capfd: Output) -> None:
    assert [row["name"] for row in printed(capfd, "show", recorded, "--filter", "name=reader")["hand_offs"]] == [
        "reader"
    ]
    assert [row["name"] for row in printed(capfd, "show", recorded, "--filter", "name!=reader")["hand_offs"]] == [
        "broken"
    ]


@pytest.mark.parametrize("text", ["colour=red", "no sign"])
def test_a_filter_that_fits_no_row_by_its_form_is_refused(text: str, capfd: Output) -> None:
    assert main(["runs", "ls", "--filter", text]) == ExitCode.USAGE
    assert "--filter" in capfd.readouterr().err


def test_the_limit_bounds_the_rows_and_the_total_counts_all(recorded: str, capfd: Output) -> None:
    shown = printed(capfd, "show", recorded, "--limit", "1")
    assert (len(shown["hand_offs"]), shown["total"]) == (1, 2)


def test_the_tree_names_each_hand_off_once(recorded: str, capfd: Output) -> None:
    assert main(["runs", "tree", recorded]) == ExitCode.DELIVERED
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "readers"
    assert sorted(line.split()[0] for line in lines[1:]) == ["broken", "reader"]
    assert {row["name"] for row in printed(capfd, "tree", recorded)["tree"]} == {"broken", "reader"}


def test_the_report_is_one_page_that_says_why(recorded: str, tmp_path: Path) -> None:
    assert main(["runs", "report", recorded, "-o", str(tmp_path / "run.html")]) == ExitCode.DELIVERED
    assert "disk gone" in (tmp_path / "run.html").read_text()


def test_the_trace_holds_each_hand_off(recorded: str, tmp_path: Path) -> None:
    assert main(["runs", "trace", recorded, "-o", str(tmp_path / "run.json")]) == ExitCode.DELIVERED
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "X"} == {"reader", "broken"}


def test_a_report_that_cannot_be_written_fails_with_its_place(recorded: str, tmp_path: Path, capfd: Output) -> None:
    assert main(["runs", "report", recorded, "-o", str(tmp_path / "none" / "run.html")]) == ExitCode.FAILED
    assert "cannot be written" in capfd.readouterr().err


LONG_RUN = """
import signal, sys, time
from symfonic_ray.journal import RunRecorder, RunStore, state_file
recorder = RunRecorder(RunStore(state_file()), command="run", fleet="f", scope="s", question="q")
signal.signal(signal.SIGINT, signal.default_int_handler)
recorder.begin()
print(recorder.run_id, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    if sys.argv[1] == "obey":
        recorder.end("cancelled")
    else:
        time.sleep(60)
"""


@contextmanager
def long_run(manners: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A recorded run in a process of its own, and its id."""
    with subprocess.Popen([sys.executable, "-c", LONG_RUN, manners], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells processes apart by /proc")


@needs_proc
def test_a_running_run_is_cancelled(capfd: Output) -> None:
    with long_run("obey") as (run_id, process):
        assert main(["runs", "cancel", run_id]) == ExitCode.DELIVERED
        assert process.wait(30) == 0
    assert f"run {run_id}: cancelled" in capfd.readouterr().err


@needs_proc
def test_a_run_that_does_not_stop_in_time_is_said_to_run_on(capfd: Output) -> None:
    with long_run("stay") as (run_id, _):
        assert main(["runs", "cancel", run_id, "--wait", "0.3"]) == ExitCode.FAILED
    assert "has not after 0.3 s" in capfd.readouterr().err


@needs_proc
def test_a_process_that_only_has_the_number_of_the_run_s_is_not_signalled() -> None:
    with long_run("obey") as (run_id, process):
        store = RunStore(state_file())
        (run,) = (run for run in store.runs() if run.run_id == run_id)
        store.end(replace(run, pid_started="1"), ())
        assert main(["runs", "cancel", run_id]) == ExitCode.FAILED
        assert ask_to_stop(replace(run, pid_started="1")) == f"process {process.pid} is gone"
        assert process.poll() is None


def test_a_run_that_has_ended_is_not_cancelled(recorded: str, capfd: Output) -> None:
    assert main(["runs", "cancel", recorded]) == ExitCode.USAGE
    assert "has ended already: delivered" in capfd.readouterr().err


def test_an_unknown_run_is_a_wrong_request(capfd: Output) -> None:
    assert main(["runs", "show", "zzz"]) == ExitCode.USAGE
    assert "no run begins with 'zzz'" in capfd.readouterr().err


def test_no_record_leaves_no_trace(project: Project, capfd: Output) -> None:
    main(["run", str(project.fleet_file), "--ask", "reader", "--input", str(project.input), "--no-record"])
    assert len(RunStore(state_file()).runs()) == 1


def test_a_store_that_refuses_costs_a_warning_and_not_the_run(project: Project, capfd: Output) -> None:
    state_file().write_bytes(b"a photo album, no database" * 100)
    code = main(["run", str(project.fleet_file), "--ask", "reader", "--input", str(project.input)])
    assert code == ExitCode.DELIVERED
    assert capfd.readouterr().err.count("this run is not recorded") == 1
    assert main(["runs", "ls"]) == ExitCode.FAILED
    assert Path(state_file()).read_bytes().startswith(b"a photo album")


@pytest.mark.parametrize("filters", [["--filter", "nokey=1"], ["--filter", "scope=nobody", "--filter", "nokey=1"]])
def test_a_key_that_no_run_has_is_refused_also_where_there_is_no_run(
    filters: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "ls", *filters]) == ExitCode.USAGE
    assert "there is no 'nokey'; the keys are" in capfd.readouterr().err
