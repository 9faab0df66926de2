"""The command as a whole: what it costs, what it says first, how it is asked for help."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
HEAVY = ("ray", "pydantic", "numpy")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]], ids=" ".join)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    heavy = HEAVY if arguments[0] != "run" else ("ray", "numpy")  # typer reads a command's options with pydantic
    done = python(
        "import sys\n"
        "from symfonic_ray.cli import main\n"
        f"code = main({arguments!r})\n"
        f"print(code, [name for name in {heavy!r} if name in sys.modules])\n"
    )
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_importing_the_package_imports_neither_ray_nor_pydantic() -> None:
    done = python(f"import sys, symfonic_ray; print([name for name in {HEAVY!r} if name in sys.modules])")
    assert done.stdout == "[]\n", done.stderr


def test_importing_compose_and_report_does_not_import_ray() -> None:
    done = python("import sys, symfonic_ray.compose, symfonic_ray.report; print('ray' in sys.modules)")
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("command", ["run", "demo", "validate", "doctor"])
def test_the_help_of_every_command_shows_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == ExitCode.DELIVERED
    help_text = capfd.readouterr().out
    assert "Example" in help_text
    assert f"  symfonic-ray {command}" in help_text


def test_the_version_is_that_of_the_package(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == ExitCode.DELIVERED
    assert capfd.readouterr().out.startswith("symfonic-ray ")


def test_an_unknown_command_is_a_wrong_request(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu"]) == ExitCode.USAGE
    assert "rnu" in capfd.readouterr().err


def test_something_is_said_before_ray_and_numpy_are_imported(tmp_path: Path) -> None:
    fleet = tmp_path / "none.yaml"
    command = [sys.executable, "-X", "importtime", "-m", "symfonic_ray.cli"]
    command += ["run", str(fleet), "--ask", "x", "--input", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == ExitCode.USAGE
    lines = done.stderr.splitlines()
    first_word = next(index for index, line in enumerate(lines) if line.startswith("reading the fleet"))
    imported = [line.rpartition("|")[2].strip() for line in lines[:first_word] if line.startswith("import time:")]
    assert "typer" in imported
    assert not set(imported) & {"ray", "numpy", "symfonic_ray.config"}


def test_something_is_said_within_the_first_second(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "symfonic_ray.cli", "run", "none.yaml", "--ask", "x", "--input", str(tmp_path)]
    seconds = []
    for _ in range(3):  # the best of three: other work shares this machine
        began_at = time.monotonic()
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stderr is not None
            process.stderr.readline()
            seconds.append(time.monotonic() - began_at)
            process.communicate(timeout=30)
    assert min(seconds) < 1.0


def test_a_reader_that_has_gone_is_no_traceback(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "symfonic_ray.cli", "validate", "none.yaml"]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60, cwd=ROOT)
    os.close(write_end)
    assert "Traceback" not in done.stderr
    assert "stdout is closed" in done.stderr
