"""What a good fleet file gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.config import load_fleet
from tests.config.conftest import Project

ROOT = Path(__file__).parents[2]
SHORTEST = """\
version: 1
name: readers
parent: KIDS.reader:build
children:
  - {name: reader, description: reads, build: "KIDS.reader:build"}
"""


def test_what_is_left_out_has_the_defaults_of_the_admission_room(project: Project) -> None:
    config = load_fleet(project.fleet(SHORTEST))
    assert config.max_depth == 3
    assert config.limits == PoolLimits()
    assert config.run_limits == RunLimits()
    assert dict(config.placements) == {"reader": Placement()}
    assert config.entry is None


def test_every_value_of_the_file_arrives(project: Project) -> None:
    text = """\
version: 1
name: readers.v2
entry: first
max_depth: 2
children:
  - name: first
    description: reads
    when_to_use: always
    build: KIDS.reader:build
    placement:
      num_cpus: 1
      replicas: [1, 4]
      resources: {disk: 2}
      delegates_to: [second]
      share: scope
  - name: zweiter-Lesér
    description: reads too
    build: KIDS.reader:build
  - {name: second, description: d, build: "KIDS.reader:build"}
limits:
  weights: {acme: 2}
  idle_ttl_seconds: 5
run_limits: {max_tokens: 10}
"""
    config = load_fleet(project.fleet(text))
    assert [child.name for child in config.children] == ["first", "zweiter-Lesér", "second"]
    assert config.children[0].when_to_use == "always"
    assert config.children[0].build == f"{project.package}.reader:build"
    placement = config.placements["first"]
    assert placement == Placement(
        num_cpus=1, replicas=(1, 4), resources={"disk": 2}, delegates_to=("second",), share="scope"
    )
    assert (config.name, config.entry, config.parent, config.max_depth) == ("readers.v2", "first", None, 2)
    assert config.limits.weights == {"acme": 2.0}
    assert config.limits.idle_ttl_seconds == 5.0
    assert config.run_limits.max_tokens == 10


def test_a_reference_is_replaced_in_text_and_nowhere_else(project: Project) -> None:
    text = SHORTEST.replace("description: reads", 'description: "for ${WHO} and ${WHO}, $WHO ${ WHO }"')
    config = load_fleet(project.fleet(text), environment={"WHO": "acme"})
    assert config.children[0].description == "for acme and acme, $WHO ${ WHO }"


def test_a_reference_is_not_read_again_as_yaml(project: Project) -> None:
    config = load_fleet(project.fleet(SHORTEST.replace("reads", '"${WHAT}"')), environment={"WHAT": "7"})
    assert config.children[0].description == "7"


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("version", "\ufeffversion")], ids=["CRLF", "byte order mark"])
def test_files_of_other_systems_are_read(project: Project, change: tuple[str, str]) -> None:
    assert load_fleet(project.fleet(SHORTEST.replace(*change))).name == "readers"


def test_a_date_is_text(project: Project) -> None:
    config = load_fleet(project.fleet(SHORTEST.replace("description: reads", "description: 2024-01-02")))
    assert config.children[0].description == "2024-01-02"


def test_imports_start_from_the_nearest_folder_that_holds_actors(project: Project) -> None:
    assert load_fleet(project.fleet(SHORTEST)).project_root == project.root


def test_imports_start_from_the_current_folder_where_no_folder_holds_actors(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root / "actors").rmdir()
    monkeypatch.chdir(project.root)
    assert load_fleet(project.fleet(SHORTEST)).project_root == project.root


def test_the_folder_of_the_project_is_put_on_the_import_path_once(project: Project) -> None:
    for _ in range(2):
        load_fleet(project.fleet(SHORTEST))
    assert sys.path.count(str(project.root)) == 1


def test_every_fleet_file_of_this_project_is_right() -> None:
    files = sorted((ROOT / "configs").glob("*.yaml"))
    assert files
    for file in files:  # in a process of its own: it imports the actors
        command = [sys.executable, "-m", "symfonic_ray.cli", "validate", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
        assert (done.returncode, done.stdout[:4]) == (0, "ok: "), done.stdout
