"""What the pages show works: Python runs or at least compiles and imports, commands and options exist, files parse."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shlex
from importlib import import_module
from typing import Any

import pytest
import typer.main
import yaml

from symfonic_ray.cli import app
from symfonic_ray.config.form import FleetForm
from tests.docs.conftest import BLOCKS, Block

PYTHON = [block for block in BLOCKS if block.language == "python"]
QUIET = [block for block in PYTHON if block.mark == "runs"]
ON_RAY = [block for block in PYTHON if block.mark == "runs on Ray"]
SHELL = [block for block in BLOCKS if block.language in ("sh", "")]
COMMANDS = [
    pytest.param(line, id=f"{block}: {line[:60]}")
    for block in SHELL
    for line in block.text.replace("\\\n", " ").splitlines()
    if re.match(r"([A-Z_]+=\S* )*symfonic-ray ", line.strip())
]


def printed(block: Block) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_compiles_and_what_it_imports_of_ours_is_there(block: Block) -> None:
    tree = compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "symfonic_ray":
            module = import_module(node.module or "")
            assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]


@pytest.mark.parametrize("block", QUIET, ids=str)
def test_a_block_that_says_so_runs(block: Block) -> None:
    printed(block)


@pytest.mark.parametrize("block", ON_RAY, ids=str)
def test_a_block_that_says_so_runs_on_ray_and_prints_what_the_page_says(block: Block) -> None:
    """On the Ray of this test run, or on a local one that the block starts and stops."""
    assert block.output
    assert [line.rstrip() for line in printed(block).splitlines()] == [
        line.rstrip() for line in block.output.splitlines()
    ]


def test_the_pages_hold_blocks_of_each_kind() -> None:
    assert QUIET
    assert ON_RAY
    assert COMMANDS


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_has_the_options_that_the_page_gives_it(line: str) -> None:
    words = [word for word in shlex.split(line, comments=True) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    command: Any = typer.main.get_command(app)  # Any: typer brings its own copy of click
    options: set[str] = set()
    for word in words[1:]:
        commands = getattr(command, "commands", {})
        command = commands.get(word) or commands.get("send", command)  # "submit FLEET" is "submit send FLEET"
        options.update(name for parameter in command.params for name in parameter.opts)
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in options | {"--help"}, f"{command.name} has no {word}"
    assert command.name != "symfonic-ray" or words[1].startswith("-"), f"no command {words[1]}"


def test_data_parses_and_a_fleet_file_has_the_form_of_one() -> None:
    for block in BLOCKS:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            data = yaml.safe_load(block.text)
            if isinstance(data, dict) and "children" in data:
                FleetForm.model_validate_json(json.dumps(data))
