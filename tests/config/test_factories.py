"""What a fleet file gives to its factories, and what is said where it does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from symfonic_ray.config import ConfigError, load_fleet, resolve
from tests.config.conftest import Project

FACTORIES = """
def build(scope):
    return ("plain", scope)

def told(scope, *, model, prompt="none", tools=()):
    return ("told", scope, model, prompt, tuple(tools))
"""
FLEET = """\
version: 1
name: readers
model: local
parent: KIDS.told:told
parent_options: {prompt: plan}
children:
  - {name: plain, description: reads, build: "KIDS.told:build"}
  - {name: own, description: reads, build: "KIDS.told:told", options: {model: "openai:x", tools: [a, b]}}
  - {name: shared, description: reads, build: "KIDS.told:told"}
"""


@pytest.fixture
def told(project: Project) -> Project:
    (project.root / project.package / "told.py").write_text(FACTORIES)
    return project


def made(build: Any) -> Any:
    return (resolve(build) if isinstance(build, str) else build)("acme")


def test_a_factory_gets_its_options_and_the_model_of_the_fleet_where_it_names_none(told: Project) -> None:
    config = load_fleet(told.fleet(FLEET))
    assert dict(config.parent_options) == {"prompt": "plan", "model": "local"}
    assert [made(child.build) for child in config.children] == [
        ("plain", "acme"),
        ("told", "acme", "openai:x", "none", ("a", "b")),
        ("told", "acme", "local", "none", ()),
    ]
    assert config.models == ("local", "openai:x")


def test_a_factory_that_is_given_nothing_stays_an_import_string(told: Project) -> None:
    assert isinstance(load_fleet(told.fleet(FLEET)).children[0].build, str)


def test_another_model_takes_the_place_of_the_file_s_own_and_of_no_option(told: Project) -> None:
    config = load_fleet(told.fleet(FLEET), model="openai:y")
    assert config.models == ("openai:y", "openai:x")


def test_a_fleet_without_a_model_gives_none(told: Project) -> None:
    text = FLEET.replace("model: local\n", "").replace("{prompt: plan}", "{model: mine}")
    config = load_fleet(told.fleet(text.replace('"KIDS.told:told"}', '"KIDS.told:build"}')))
    assert config.models == ("mine", "openai:x")


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "problem", "remedy"),
    [
        ("{prompt: plan}", "{promt: plan}", 5, "parent_options", "promt", "it takes model, prompt, tools"),
        ("{prompt: plan}", "[plan]", 5, "parent_options", "is a list", "give a mapping"),
        ("tools: [a, b]", "tool: a", 8, "children[1].options", "tool", "it takes model, prompt, tools"),
        ("model: local\n", "", 4, "children[2].options", "'model'", "it takes model"),
        ("model: local", "model: 5", 3, "model", "is 5", "give text"),
        (
            'build: "KIDS.told:build"}',
            'build: "KIDS.told:build", options: {x: 1}}',
            7,
            "children[0].options",
            "'x'",
            "it takes none but the scope",
        ),
    ],
    ids=["unknown option", "no mapping", "unknown option of a child", "no model", "no text", "nothing taken"],
)
def test_what_does_not_fit_is_told_with_its_place(
    told: Project, old: str, new: str, line: int, key: str, problem: str, remedy: str
) -> None:
    assert old in FLEET
    with pytest.raises(ConfigError) as caught:
        load_fleet(told.fleet(FLEET.replace(old, new)))
    found = {one.key: one for one in caught.value.problems}
    assert key in found, caught.value
    assert problem in found[key].problem
    assert remedy in found[key].remedy
    assert old == "model: local\n" or found[key].line == line


@pytest.mark.parametrize("given", ["file", "argument"])
def test_a_model_that_no_factory_takes_is_a_problem_of_the_file(told: Project, given: str) -> None:
    text = 'version: 1\nname: x\nentry: a\nchildren:\n  - {name: a, description: d, build: "KIDS.told:build"}\n'
    if given == "file":
        text = text.replace("name: x", "name: x\nmodel: local")
    with pytest.raises(ConfigError, match="'local', which neither the parent nor a child takes"):
        load_fleet(told.fleet(text), model="local" if given == "argument" else None)
