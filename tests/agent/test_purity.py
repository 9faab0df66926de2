"""The room needs the standard library, the kernel, delegation and execution, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

WALK = """
import importlib, json, pkgutil, sys
package = importlib.import_module("symfonic_ray.agent")
for module in pkgutil.walk_packages(package.__path__, "symfonic_ray.agent."):
    importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""


def test_importing_every_module_loads_no_foreign_library_and_no_other_room() -> None:
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, timeout=60, check=True)
    modules = set(json.loads(done.stdout))
    assert "symfonic_ray.agent.loop" in modules
    assert not {"ray", "pydantic", "numpy", "openai", "langchain_core", "docstring_parser"} & modules
    rooms = {name.split(".")[1] for name in modules if name.startswith("symfonic_ray.")}
    assert rooms == {"agent", "delegation", "execution", "kernel"}


def test_every_name_that_is_announced_is_there() -> None:
    import symfonic_ray.agent as room

    assert len(set(room.__all__)) == len(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)
