"""``symfonic-ray run`` from the arguments to stdout, stderr and the exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.compose import FleetOpenError
from symfonic_ray.delegation import DelegationRecord
from tests.cli.conftest import ObservedFakeFleet, Project

Opened = Callable[..., list[str]]


async def answers(task: str) -> str:
    return "forty [bold]two[/bold]"


async def fails(task: str) -> str:
    raise OSError("disk\n[red]gone[/red]\x1b[31m")


async def waits(task: str) -> str:
    await asyncio.sleep(60)
    return "late"


CHILDREN = {"reader": answers, "broken": fails, "slow": waits}


def run(project: Project, question: str, *options: str) -> int:
    arguments = ["run", str(project.fleet_file), "--ask", question, "--input", str(project.input), *options]
    return main(arguments)


def test_the_answer_alone_is_on_stdout(project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]) -> None:
    opened(CHILDREN)
    code = run(project, "reader", "--scope", "acme")
    out, err = capfd.readouterr()
    assert code == ExitCode.DELIVERED
    assert out == f"acme asked {project.input}: forty [bold]two[/bold]\n"
    assert "(raylet)" in err
    assert "a parent that prints" in err


def test_the_fleet_is_opened_for_the_scope_and_address_and_closed(project: Project, opened: Opened) -> None:
    asked = opened(CHILDREN)
    run(project, "reader", "--scope", "acme", "--address", "10.0.0.5:6379")
    assert asked == ["readers acme 10.0.0.5:6379", "closed"]


def test_the_address_comes_from_the_environment_where_none_is_given(
    project: Project, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.6:6379")
    asked = opened(CHILDREN)
    run(project, "reader")
    assert asked[0] == "readers local 10.0.0.6:6379"


def test_the_json_object_has_the_promised_fields_and_nothing_else_is_printed(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    opened(CHILDREN)
    assert run(project, "reader broken", "--json") == ExitCode.DELIVERED
    told = json.loads(capfd.readouterr().out)
    assert list(told) == [
        "schema_version",
        "outcome",
        "answer",
        "message",
        "quotes",
        "notes",
        "records",
        "problems",
        "seconds",
    ]
    assert (told["schema_version"], told["outcome"], told["message"]) == (1, "delivered", "")
    assert told["quotes"] == [{"file": "a.txt", "line": 3, "text": "forty [bold]two[/bold]", "child": "reader"}]
    assert told["notes"][0] == "b.txt: empty"
    assert sorted(record["outcome"] for record in told["records"]) == ["child_failed", "delivered"]
    assert {record["depth"] for record in told["records"]} == {1}
    assert all(set(record) == {field.name for field in fields(DelegationRecord)} for record in told["records"])
    assert 0 <= told["seconds"] < 10


ENDINGS = {
    "a child answers": ("reader", (), ExitCode.DELIVERED, "delivered"),
    "one of two fails": ("reader broken", (), ExitCode.DELIVERED, "delivered"),
    "one of two fails, strict": ("reader broken", ("--strict",), ExitCode.PARTIAL, "partial"),
    "all answer, strict": ("reader reader", ("--strict",), ExitCode.DELIVERED, "delivered"),
    "every child fails": ("broken broken", (), ExitCode.FAILED, "failed"),
    "only unknown children": ("nobody", (), ExitCode.REFUSED, "refused"),
    "refused and failed": ("nobody broken", (), ExitCode.FAILED, "failed"),
    "the parent fails": ("fail", (), ExitCode.FAILED, "failed"),
    "the parent says nothing": ("say nothing", (), ExitCode.FAILED, "failed"),
    "no time is left": ("slow", ("--timeout", "0.2"), ExitCode.DEADLINE, "deadline"),
}


@pytest.mark.parametrize(("question", "options", "code", "outcome"), ENDINGS.values(), ids=ENDINGS.keys())
def test_each_ending_has_its_exit_code_and_outcome(
    project: Project,
    opened: Opened,
    capfd: pytest.CaptureFixture[str],
    question: str,
    options: tuple[str, ...],
    code: ExitCode,
    outcome: str,
) -> None:
    asked = opened(CHILDREN)
    assert run(project, question, "--json", *options) == code
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert told["outcome"] == outcome
    assert (told["message"] == "") == (outcome == "delivered")
    assert f"{outcome} after" in err
    assert asked[-1] == "closed"


def test_an_entry_child_gets_the_question_where_there_is_no_parent(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    async def repeats(task: str) -> str:
        return f"got {task}"

    opened({"reader": repeats})
    project.write(
        "version: 1\nname: e\nentry: reader\nchildren:\n  - {name: reader, description: d, build: 'os:getcwd'}\n"
    )
    assert run(project, "what?") == ExitCode.DELIVERED
    question = json.dumps({"question": "what?", "input": str(project.input)})
    assert capfd.readouterr().out == f"got {question}\n"


def test_an_entry_child_that_takes_too_long_is_a_deadline(project: Project, opened: Opened) -> None:
    opened({"reader": waits})
    project.write(
        "version: 1\nname: e\nentry: reader\nchildren:\n  - {name: reader, description: d, build: 'os:getcwd'}\n"
    )
    assert run(project, "what?", "--timeout", "0.2") == ExitCode.DEADLINE


@pytest.mark.parametrize("question", ["reader", "fail"])
def test_the_parent_is_closed_however_it_ends(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str], question: str
) -> None:
    opened(CHILDREN)
    run(project, question, "--json")
    out, err = capfd.readouterr()
    assert err.count("the parent is closed") == 1
    assert "OSError: its lock is gone" in json.loads(out)["notes"][-1]


def test_a_longer_timeout_does_not_widen_the_limit_of_the_fleet(project: Project, opened: Opened) -> None:
    opened(CHILDREN)
    project.write(project.fleet_file.read_text().replace("max_seconds: 60", "max_seconds: 0.2"))
    assert run(project, "slow", "--timeout", "50") == ExitCode.DEADLINE


OPENINGS = {
    "no cluster": (FleetOpenError("unreachable", "nothing answers at x:1"), ExitCode.UNREACHABLE, "unreachable"),
    "a child that is not built": (FleetOpenError("build", "reader: build_failed"), ExitCode.FAILED, "failed"),
    "a limit that is not kept": (FleetOpenError("limits", "warm_hosts is 9"), ExitCode.USAGE, "invalid"),
    "anything else": (RuntimeError("odd"), ExitCode.FAILED, "failed"),
}


@pytest.mark.parametrize(("error", "code", "outcome"), OPENINGS.values(), ids=OPENINGS.keys())
def test_a_fleet_that_does_not_open_has_its_exit_code_and_no_traceback(
    project: Project,
    opened: Opened,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    code: ExitCode,
    outcome: str,
) -> None:
    opened(CHILDREN, raising=error)
    assert run(project, "reader", "--json") == code
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert told["outcome"] == outcome
    assert str(error) in told["message"]
    assert str(error) in err
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_closes_and_says_so(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    cancelled: list[str] = []

    async def interrupts(task: str) -> str:
        os.kill(os.getpid(), number)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append("child")
            raise
        return "late"

    asked = opened(CHILDREN | {"interrupts": interrupts})
    assert run(project, "reader interrupts", "--json") == ExitCode.CANCELLED
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert told["outcome"] == "cancelled"
    assert [record["name"] for record in told["records"]] == ["reader"]
    assert "interrupted: cancelling" in err
    assert cancelled == ["child"]
    assert asked[-1] == "closed"


def test_a_second_signal_hurries_the_closing(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    async def interrupts(task: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)  # a child that takes its time to stop
        return "late"

    opened({"reader": interrupts})
    assert run(project, "reader", "--json") == ExitCode.CANCELLED
    out, err = capfd.readouterr()
    assert json.loads(out)["outcome"] == "cancelled"
    assert "hurrying" in err


USAGE = {
    "a blank question": (["--ask", "  "], "blank"),
    "a scope for everybody": (["--scope", "*"], "names no tenant"),
    "an invisible scope": (["--scope", "a\u200bb"], "U+200B"),
    "no time": (["--timeout", "0"], "above 0"),
    "endless time": (["--timeout", "inf"], "above 0"),
    "an unknown option": (["--asking", "x"], "--asking"),
    "an input that is not there": (["--input", "/no/such/folder"], "does not exist"),
}


@pytest.mark.parametrize(("options", "words"), USAGE.values(), ids=USAGE.keys())
def test_a_wrong_request_is_refused_before_anything_is_started(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    asked = opened(CHILDREN)
    assert run(project, "reader", *options) == ExitCode.USAGE
    out, err = capfd.readouterr()
    assert words in err
    assert (out, asked) == ("", [])


def test_the_problems_of_a_fleet_file_are_told_before_anything_is_started(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = opened(CHILDREN)
    project.write("version: 1\nname: readers\nmax_dept: 1\n")
    assert run(project, "reader", "--json") == ExitCode.USAGE
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert told["outcome"] == "invalid"
    assert [(problem["line"], problem["key"]) for problem in told["problems"]] == [
        (1, "children"),
        (1, "parent"),
        (3, "max_dept"),
    ]
    assert f"{project.fleet_file}:3: max_dept: is not a key here; did you mean 'max_depth'?" in err
    assert asked == []


def test_foreign_words_are_harmless_on_stderr(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    opened(CHILDREN)
    run(project, "broken", "--scope", "[red]acme[/red]")
    err = capfd.readouterr().err
    assert "\x1b" not in err
    assert "OSError: disk [red]gone[/red]" in err
    assert "scope [red]acme[/red]" in err


def test_a_traceback_is_shown_with_debug_only(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    opened(CHILDREN)
    run(project, "fail")
    assert "Traceback" not in capfd.readouterr().err
    run(project, "fail", "--debug")
    assert "Traceback" in capfd.readouterr().err


def test_the_tree_is_told_in_lines_where_stderr_is_no_terminal(
    project: Project, opened: Opened, capfd: pytest.CaptureFixture[str]
) -> None:
    opened(CHILDREN)
    run(project, "reader", "--scope", "acme")
    lines = capfd.readouterr().err.splitlines()
    tree = [line.partition("] ")[2] for line in lines if line.startswith("[")]
    assert tree[0] == "  reader  depth 1  scope acme  running"
    assert tree[1].startswith("  reader  depth 1  scope acme  delivered  0.0")
    assert tree[2] == "0 running, 1 delivered, 0 failed"


def test_a_closing_that_fails_leaves_the_answer_and_its_exit_code(
    project: Project, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def open_fake(config: Any, *, scope: str, address: Any, on_stage: Any) -> AsyncIterator[ObservedFakeFleet]:
        yield ObservedFakeFleet(CHILDREN, scope=scope)
        raise OSError("cannot close")

    monkeypatch.setattr("symfonic_ray.compose.open_fleet", open_fake)
    assert run(project, "reader", "--json") == ExitCode.DELIVERED
    out, err = capfd.readouterr()
    assert json.loads(out)["outcome"] == "delivered"
    assert "closing failed: OSError: cannot close" in err
