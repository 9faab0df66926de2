"""``symfonic-ray validate``."""

from __future__ import annotations

import json

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from tests.cli.conftest import Project


def test_a_good_file_is_summed_up_on_one_line(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(project.fleet_file)]) == ExitCode.DELIVERED
    out, err = capfd.readouterr()
    assert out == (f"ok: 1 child, max depth 3, parent {project.package}.parent:build, imports from {project.root}\n")
    assert "autoscaling" in err


def test_a_fleet_that_asks_for_cores_gets_no_note(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    text = project.fleet_file.read_text().replace('build"}', 'build", placement: {num_cpus: 0.1}}')
    project.write(text)
    assert main(["validate", str(project.fleet_file)]) == ExitCode.DELIVERED
    assert "autoscaling" not in capfd.readouterr().err


def test_every_problem_is_a_line_on_stdout(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write("version: 2\nname: a b\nentry: x\nchildren: []\n")
    assert main(["validate", str(project.fleet_file)]) == ExitCode.USAGE
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(":")[1] for line in lines] == ["1", "2", "4"]
    assert all(line.startswith(f"{project.fleet_file}:") for line in lines)


def test_the_json_object_holds_the_problems(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write("version: 2\n")
    assert main(["validate", str(project.fleet_file), "--json"]) == ExitCode.USAGE
    told = json.loads(capfd.readouterr().out)
    assert (told["schema_version"], told["outcome"]) == (1, "invalid")
    assert set(told["problems"][0]) == {"file", "line", "key", "problem", "remedy"}


def test_the_json_object_of_a_good_file_tells_what_is_in_it(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(project.fleet_file), "--json"]) == ExitCode.DELIVERED
    told = json.loads(capfd.readouterr().out)
    assert told == {
        "schema_version": 1,
        "outcome": "ok",
        "problems": [],
        "name": "readers",
        "children": ["reader"],
        "max_depth": 3,
        "project_root": str(project.root),
    }


def test_what_a_module_prints_while_it_is_imported_stays_off_stdout(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    module = project.root / project.package / "loud.py"
    module.write_text("import os\nprint('loud')\nos.system('echo louder')\n\n\ndef build(scope): ...\n")
    project.write(project.fleet_file.read_text().replace("parent:build", "loud:build"))
    assert main(["validate", str(project.fleet_file)]) == ExitCode.DELIVERED
    out, err = capfd.readouterr()
    assert out.startswith("ok: ")
    assert "loud\n" in err
    assert "louder\n" in err
