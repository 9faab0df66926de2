"""The house stands as DESIGN draws it: a room imports lower floors only, and the pure rooms need nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "symfonic_ray"

FLOORS = (
    ("kernel",),
    ("delegation", "execution", "admission"),
    ("agent", "testing"),
    ("journal", "adapters", "config", "report"),
    ("cluster",),
    ("compose", "bulk", "bench", "jobs", "testing/simulator", "console"),
    ("cli",),
)
DATA = {"samples", "scaffold"}  # documents and a new project's files, no code to speak of
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
STDLIB_ONLY = ("kernel", "delegation", "execution", "admission", "agent", "testing")
RAY_ROOMS = ("cluster", "bench", "jobs")  # bench measures Ray itself; jobs hands work to Ray's own job server
ACTORS_MAY_USE = {"symfonic_ray.kernel", "symfonic_ray.delegation", "symfonic_ray.execution", "symfonic_ray.agent"}


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module by its path, or by the parts of its dotted name; a room inside a room has its own floor."""
    inner = "/".join(parts[:2])
    return inner if inner in FLOOR_OF else parts[0].removesuffix(".py")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module below the package with the room it is in; the package's own ``__init__`` is no room."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        if parts != ("__init__.py",):
            yield room_of(parts), path


def imported(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Dotted names that a file imports, with the line, and whether only type checkers see it."""
    tree = ast.parse(path.read_text(), str(path))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, id(node) in typing_only
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module or "", node.lineno, id(node) in typing_only


def test_every_room_has_a_floor_and_every_floor_s_room_is_known() -> None:
    rooms = {room for room, _ in modules()} - DATA
    assert rooms <= set(FLOOR_OF), f"no floor for {sorted(rooms - set(FLOOR_OF))}"
    assert {"kernel", "delegation", "cluster", "cli"} <= rooms


def test_a_room_imports_lower_floors_only() -> None:
    wrong = []
    for room, path in modules():
        for name, line, _ in imported(path):
            if name.startswith("symfonic_ray."):
                other = room_of(tuple(name.split(".")[1:]))
                if room in DATA or (other != room and other not in DATA and FLOOR_OF[other] >= FLOOR_OF[room]):
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} imports {other}")
    assert not wrong, "\n".join(wrong)


def test_only_the_rooms_that_touch_a_cluster_import_ray() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for room, path in modules()
        for name, line, _ in imported(path)
        if room not in RAY_ROOMS and (name == "ray" or name.startswith("ray."))
    ]
    assert not wrong, wrong


def test_actors_import_neither_ray_nor_the_upper_floors() -> None:
    wrong = []
    for path in sorted((ROOT / "actors").rglob("*.py")):
        for name, line, _ in imported(path):
            ours = name.startswith("symfonic_ray")
            room = ".".join(name.split(".")[:2])
            adapters = room == "symfonic_ray.adapters"
            if name.split(".")[0] == "ray" or (ours and room not in ACTORS_MAY_USE and not adapters):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert not wrong, "\n".join(wrong)


IMPORT_ROOMS = """
import importlib, json, pkgutil, sys
for room in {rooms!r}:
    package = importlib.import_module("symfonic_ray." + room)
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not found.ispkg:  # a room inside a room has its own floor
            importlib.import_module(found.name)
print(json.dumps(sorted(name.split(".")[0] for name in sys.modules)))
"""


def loaded_by(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after ``code``."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.strip().splitlines()[-1]))


def test_the_pure_rooms_load_nothing_but_the_standard_library() -> None:
    rooms = [room for room in STDLIB_ONLY if (PACKAGE / room).is_dir()]
    loaded = loaded_by(IMPORT_ROOMS.format(rooms=rooms))
    assert not loaded & {"ray", "pydantic", "pydantic_core", "numpy", "yaml", "typer", "rich"}


@pytest.mark.parametrize(
    "code",
    [
        "import symfonic_ray",
        "import symfonic_ray.cli",
        "from symfonic_ray import ScopedChild, current_fleet, DelegationOutcome",
    ],
)
def test_the_front_door_does_not_pay_for_ray(code: str) -> None:
    loaded = loaded_by(code + "\nimport json, sys; print(json.dumps(sorted(n.split('.')[0] for n in sys.modules)))")
    assert not loaded & {"ray", "pydantic", "numpy"}


def test_the_logic_of_a_hand_off_is_there_without_ray() -> None:
    logic = ("scoped_pool", "controller", "child_host", "fleet", "runner", "courier", "faults", "plan", "live_scopes")
    code = "".join(f"import symfonic_ray.cluster.{name}\n" for name in logic)
    loaded = loaded_by(code + "import json, sys; print(json.dumps(sorted(n.split('.')[0] for n in sys.modules)))")
    assert "pydantic" in loaded
    assert "ray" not in loaded
