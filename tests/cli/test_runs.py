"""``symfonic-ray runs`` on what ``run`` has recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
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
