"""What an import string may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from symfonic_ray.config import ImportStringError, resolve
from symfonic_ray.config.import_strings import make_importable
from tests.config.conftest import Project


def test_an_attribute_may_have_dots() -> None:
    assert resolve("pathlib:Path.cwd")() == Path.cwd()


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "os",
        "os:",
        ":getcwd",
        "os:get cwd",
        "os..path:join",
        "os:path:join",
        "1x:build",
        "os:import",
        " os:getcwd",
    ],
)
def test_a_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ImportStringError, match=r"form package\.module:attribute"):
        resolve(text)


def test_a_module_that_raises_is_named_with_its_own_error(project: Project) -> None:
    project.module("broken", "raise ValueError('no\\nkey')")
    make_importable(project.root)
    with pytest.raises(ImportStringError, match="ValueError: no key"):
        resolve(f"{project.package}.broken:build")


def test_a_module_with_wrong_syntax_is_named_with_its_own_error(project: Project) -> None:
    project.module("wrong", "def build(scope:\n")
    make_importable(project.root)
    with pytest.raises(ImportStringError, match="SyntaxError"):
        resolve(f"{project.package}.wrong:build")
