"""What ``pip install`` gets: the package and its documents, and nothing of the workshop."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_holds_the_package_and_leaves_actors_and_tests_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"symfonic_ray"}
    assert {"symfonic_ray/py.typed", "symfonic_ray/cluster/child_host.py"} <= set(names)
    assert any(name.startswith("symfonic_ray/samples/") and name.endswith(".md") for name in names)
    assert {"symfonic_ray/scaffold/project/README.md.tmpl", "symfonic_ray/scaffold/project/.gitignore.tmpl"} <= set(
        names
    )
    metadata = zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert "Requires-Python: >=3.11" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)
