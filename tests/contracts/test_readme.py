"""The README's own example runs as printed and prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def block(language: str, number: int = 0) -> str:
    """The text of a fenced block of the README."""
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return found[number]


def test_the_example_runs_as_printed(tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(block("python"))
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 25
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SYMFONIC_RAY_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == block("text")


def test_every_script_that_is_named_exists() -> None:
    for name in set(re.findall(r"scripts/(\w+)", README)):
        assert os.access(ROOT / "scripts" / name, os.X_OK), name
