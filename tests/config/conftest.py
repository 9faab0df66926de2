"""A project of the user's own: a folder with ``actors/``, a package of factories, and fleet files."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

FACTORIES = """
def build(scope):
    return None

NUMBER = 7
"""


class Project:
    """Writes fleet files; ``KIDS`` in their text stands for the project's package, whose name is its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = f"kids_{uuid.uuid4().hex[:8]}"
        (root / "actors").mkdir()
        self.module("__init__", "")
        self.module("reader", FACTORIES)

    def module(self, name: str, source: str) -> None:
        """Add a module to the project's package."""
        (self.root / self.package).mkdir(exist_ok=True)
        (self.root / self.package / f"{name}.py").write_text(source, encoding="utf-8")

    def fleet(self, text: str) -> Path:
        """Write a fleet file."""
        file = self.root / "configs" / "fleet.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace("KIDS", self.package), encoding="utf-8", newline="")
        return file


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    import_path = list(sys.path)
    made = Project(tmp_path)
    yield made
    sys.path[:] = import_path
    for name in [name for name in sys.modules if name.partition(".")[0] == made.package]:
        del sys.modules[name]
