"""``symfonic-ray demo``: which fleet and which documents it takes."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from symfonic_ray import samples
from symfonic_ray.cli import main
from symfonic_ray.cli.asking import AskRequest
from symfonic_ray.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[AskRequest]:
    """What would have been asked."""
    asked: list[AskRequest] = []

    def note(request: AskRequest) -> ExitCode:
        asked.append(request)
        return ExitCode.PARTIAL

    demo_module = importlib.import_module("symfonic_ray.cli.demo")  # the attribute of that name is the command
    monkeypatch.setattr(demo_module, "carry_out", note)
    return asked


def test_the_samples_are_asked_their_own_question_by_the_fleet_of_the_checkout(requests: list[AskRequest]) -> None:
    assert main(["demo"]) == ExitCode.PARTIAL
    (request,) = requests
    assert request.fleet_file == ROOT / "configs" / "readers.yaml"
    assert request.question == samples.SAMPLE_QUESTION
    assert request.input_path == samples.SAMPLE_FOLDER


def test_own_documents_are_asked_an_own_question(requests: list[AskRequest], tmp_path: Path) -> None:
    main(["demo", "--docs", str(tmp_path), "--ask", "why?", "--strict", "--timeout", "9"])
    (request,) = requests
    assert (request.input_path, request.question) == (tmp_path, "why?")
    assert (request.strict, request.timeout_seconds) == (True, 9.0)


def test_own_documents_need_an_own_question(requests: list[AskRequest], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--docs", "."]) == ExitCode.USAGE
    assert "add --ask" in capfd.readouterr().err
    assert requests == []


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package alone, as a wheel installs it: no configs, no actors."""
    shutil.copytree(
        ROOT / "symfonic_ray", tmp_path / "site" / "symfonic_ray", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / "site"


def python(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(installed), "PATH": ""}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment)


def test_outside_a_checkout_it_says_what_is_missing(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, "-m", "symfonic_ray.cli", "demo")
    assert done.returncode == ExitCode.USAGE
    assert "configs/readers.yaml" in done.stderr
    assert "symfonic-ray run" in done.stderr


def test_an_installed_package_finds_the_fleet_of_the_checkout_it_is_run_in(installed: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "actors").mkdir(parents=True)
    (checkout / "configs").mkdir()
    (checkout / "configs" / "readers.yaml").touch()
    code = "from pathlib import Path; from symfonic_ray.cli.demo import find_fleet_file as f; print(f(Path.cwd()))"
    assert python(installed, checkout, "-c", code).stdout.strip() == str(checkout / "configs" / "readers.yaml")
