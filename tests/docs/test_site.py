"""The site builds strictly, holds every page and every command, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

from symfonic_ray.cli import app
from tests.docs.conftest import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; mkdocs' own warnings fail the build."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "mkdocs", "build", "--strict", "--quiet", "-f", "docs/site/mkdocs.yml", "-d", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def commands(command: Any, name: str) -> list[str]:  # Any: typer brings its own copy of click
    below = getattr(command, "commands", {}).items()
    return [name, *(each for word, one in below if not one.hidden for each in commands(one, f"{name} {word}"))]


def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 10
    assert not [page for page in pages if page != "index.html" and f'href="{page}"' not in home]


def test_the_command_line_page_tells_of_every_command(site: Path) -> None:
    page = unescape((site / "reference/command-line.html").read_text(encoding="utf-8"))
    wanted = commands(typer.main.get_command(app), "symfonic-ray")
    assert "symfonic-ray submit stop" in wanted
    assert not [name for name in wanted if f"<code>{name}</code>" not in page]


def test_the_python_page_names_things_that_are_there_and_shows_their_words(site: Path) -> None:
    source = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    page = (site / "reference/python.html").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", source, re.M)
    assert len(names) > 15
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
        assert f'id="{name}"' in page, name


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:)?//[^"]*"')
    pages = list(site.rglob("*.html"))
    assert pages
    assert not [page.name for page in pages if loading.search(page.read_text(encoding="utf-8"))]
