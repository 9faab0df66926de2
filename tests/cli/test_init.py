"""``symfonic-ray init``: the project that it writes is right as written, and nothing of the user's is written over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.scaffold import project_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*words: str, cwd: Path, seconds: float = 100, variables: Mapping[str, str] = {}) -> str:
    """What a command prints to both streams; it has to succeed."""
    environment = os.environ | dict(variables)
    ended = subprocess.run(
        words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def test_it_writes_every_file_and_prints_what_to_do_next(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my-fleet"]) == ExitCode.DELIVERED
    written = {path.relative_to(folder / "my-fleet").as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == set(project_files("my-fleet", "1"))
    assert {"README.md", "actors/reader.py", "actors/coordinator.py", "configs/fleet.yaml", ".gitignore"} <= written
    out = capfd.readouterr().out
    assert "  cd my-fleet\n" in out
    assert "  python -m pytest\n" in out


def test_no_placeholder_is_left_in_a_written_file(folder: Path) -> None:
    main(["init", "my-fleet"])
    texts = [path.read_text() for path in folder.rglob("*") if path.is_file()]
    assert not [text for text in texts if "@NAME@" in text or "@VERSION@" in text]
    assert "name: my-fleet\n" in (folder / "my-fleet/configs/fleet.yaml").read_text()


def test_an_empty_folder_is_filled(folder: Path) -> None:
    (folder / "mine").mkdir()
    assert main(["init", "mine"]) == ExitCode.DELIVERED


def test_a_folder_that_holds_anything_is_left_as_it_is(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/.keep").touch()
    assert main(["init", "mine"]) == ExitCode.USAGE
    assert [path.name for path in (folder / "mine").iterdir()] == [".keep"]
    assert capfd.readouterr().err == "the folder mine is not empty; use another name, or empty it first\n"


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_a_name_that_is_taken_by_another_thing_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    (folder / "mine").touch() if kind == "file" else (folder / "mine").symlink_to(folder / "nowhere")
    assert main(["init", "mine"]) == ExitCode.USAGE
    assert "is there and is no folder" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/tmp/a", "1st", "a b", "a.", "-", "x-", "é", "a\n", "a" * 65])
def test_a_name_that_a_fleet_could_not_carry_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["init", "--", name]) == ExitCode.USAGE
    assert "is no name for a project; use up to 64 letters" in capfd.readouterr().err
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_made_is_a_failure_with_its_reason(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "mkdir", full)
    assert main(["init", "mine"]) == ExitCode.FAILED
    assert "could not be written (No space left on device); " in capfd.readouterr().err


def test_the_json_object_tells_the_files_and_the_next_steps(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "mine", "--json"]) == ExitCode.DELIVERED
    told = json.loads(capfd.readouterr().out)
    assert (told["schema_version"], told["outcome"], told["name"]) == (1, "ok", "mine")
    assert told["folder"] == str(folder / "mine")
    assert sorted(told["files"]) == sorted(project_files("mine", "1"))
    assert told["next"][0] == "cd mine"


def test_the_json_object_of_a_refusal_holds_the_problem(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "a b", "--json"]) == ExitCode.USAGE
    told = json.loads(capfd.readouterr().out)
    assert told["outcome"] == "invalid"
    assert set(told["problems"][0]) == {"file", "line", "key", "problem", "remedy"}


def test_the_code_that_it_writes_is_formatted_and_linted_as_our_own(folder: Path) -> None:
    main(["init", "mine"])
    project = folder / "mine"
    rules = str(ROOT / "pyproject.toml")
    done(sys.executable, "-m", "ruff", "format", "--check", "--config", rules, "--no-cache", ".", cwd=project)
    done(sys.executable, "-m", "ruff", "check", "--config", rules, "--no-cache", ".", cwd=project)


def test_the_fleet_file_that_it_writes_is_valid_and_its_fast_tests_pass(folder: Path) -> None:
    main(["init", "mine"])
    project, path = folder / "mine", {"PYTHONPATH": str(ROOT)}
    assert done(sys.executable, "-m", "symfonic_ray.cli", "validate", "configs/fleet.yaml", cwd=project, variables=path)
    fast = ["-q", "-p", "no:cacheprovider", "--deselect", "tests/test_fleet.py"]
    assert "5 passed" in done(sys.executable, "-m", "pytest", *fast, cwd=project, variables=path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_in_an_empty_environment_starts_a_project_whose_tests_pass(folder: Path) -> None:
    """What a new user types, with the real Ray; installs from the package index."""
    done(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"), cwd=ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv/bin"
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    done(str(programs / "python"), *install, f"{wheel}[test]", cwd=folder, seconds=600)
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ""}
    done("symfonic-ray", "init", "mine", cwd=folder, variables=path)
    assert "6 passed" in done("pytest", cwd=folder / "mine", seconds=200, variables=path)
    question = ("--ask", "When is the greenhouse watered?", "--input", "notes", "--no-record")
    answer = done(
        "symfonic-ray", "run", "configs/fleet.yaml", *question, cwd=folder / "mine", seconds=200, variables=path
    )
    assert "garden.md:3: The greenhouse is watered every Tuesday morning." in answer
