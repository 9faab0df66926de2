"""What the actors may import, and that they are what a fleet can call."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from actors import coordinator, echo, reader

ROOT = Path(__file__).parents[2]
OURS = ("symfonic_ray.kernel", "symfonic_ray.delegation", "symfonic_ray.agent", "symfonic_ray.adapters")
ALLOWED = {"actors", "numpy", *sys.stdlib_module_names}


def imported(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("module", sorted((ROOT / "actors").glob("*.py")), ids=lambda path: path.name)
def test_an_actor_imports_numpy_the_kernel_delegation_and_nothing_foreign(module: Path) -> None:
    for name in imported(module):
        assert name.split(".")[0] in ALLOWED or name.startswith(OURS), name


def test_importing_every_actor_imports_neither_ray_nor_pydantic() -> None:
    code = "import sys, actors.coordinator, actors.reader, actors.echo; print({'ray', 'pydantic'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("module", [coordinator, reader, echo], ids=lambda module: module.__name__)
def test_a_run_names_every_keyword_of_a_hand_off(module: object) -> None:
    agent = module.build("acme")  # type: ignore[attr-defined]
    keywords = [
        parameter.name
        for parameter in inspect.signature(agent.run).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert keywords == ["scope", "run_id", "agent_depth", "root_run_id", "parent_run_id"]


def test_a_reader_blocks_so_that_a_host_gives_it_a_thread() -> None:
    assert not inspect.iscoroutinefunction(reader.build("acme").run)
