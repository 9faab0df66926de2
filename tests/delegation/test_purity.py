"""The room needs the standard library and the kernel, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

WALK = """
import importlib, json, pkgutil, sys
for room in ("symfonic_ray.delegation", "symfonic_ray.testing"):
    for module in pkgutil.iter_modules(importlib.import_module(room).__path__, room + "."):
        if "simulator" not in module.name:  # a room of its own, above the cluster's logic
            importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""


def loaded() -> set[str]:
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_importing_every_module_loads_no_foreign_library_and_no_other_room() -> None:
    modules = loaded()
    assert {"symfonic_ray.delegation.capability", "symfonic_ray.testing.fake_fleet"} <= modules
    assert not {"ray", "pydantic", "numpy"} & modules
    rooms = {name.split(".")[1] for name in modules if name.startswith("symfonic_ray.")}
    assert rooms == {"delegation", "testing", "kernel"}


def test_every_name_that_is_announced_is_there() -> None:
    import symfonic_ray.delegation as room

    assert len(set(room.__all__)) == len(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)
