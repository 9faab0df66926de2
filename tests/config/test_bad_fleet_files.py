"""Every way in which a fleet file can be wrong, with the line and key at which it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from symfonic_ray.config import ConfigError, ConfigProblem, load_fleet
from tests.config.conftest import Project
from tests.config.wrong_places import CASES, GOOD


def problems_of(file: Path, environment: dict[str, str] | None = None) -> tuple[ConfigProblem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_fleet(file, environment=environment or {})
    return caught.value.problems


def test_the_good_file_that_the_cases_start_from_is_accepted(project: Project) -> None:
    assert load_fleet(project.fleet(GOOD)).name == "readers"


@pytest.mark.parametrize(("old", "new", "line", "key", "problem", "remedy"), CASES.values(), ids=CASES.keys())
def test_a_wrong_place_is_one_line_with_file_line_key_problem_and_remedy(
    project: Project, old: str, new: str, line: int, key: str, problem: str, remedy: str
) -> None:
    assert old in GOOD
    file = project.fleet(GOOD.replace(old, new, 1))
    found = problems_of(file)
    said = [(one.line, one.key) for one in found]
    assert said == [(line, key)]
    assert problem in found[0].problem
    assert remedy in found[0].remedy
    assert str(found[0]) == f"{file}:{line}: {key}: {found[0].problem}; {found[0].remedy}"


UNREADABLE = {
    "empty": (b"", 1, "is empty"),
    "only comments": (b"# nothing\n", 1, "is empty"),
    "not UTF-8": (b"version: 1\nname: \xff\n", 2, "not UTF-8"),
    "UTF-16": ("version: 1".encode("utf-16"), 1, "not UTF-8"),
    "a control character": (b"version: 1\nname: a\x07b\n", 2, "U+0007"),
    "a tab for indentation": (b"version: 1\nchildren:\n\t- a\n", 3, "not YAML"),
    "an open bracket": (b"version: 1\nname: [a\n", 3, "not YAML"),
    "two documents": (b"version: 1\n---\nversion: 1\n", 2, "not YAML"),
    "an unknown alias": (b"version: *nobody\n", 1, "not YAML"),
    "too large": (b"#" * 1_048_577, 1, "larger than 1048576 bytes"),
    "nested without end": (b"[" * 5000, 1, "nested too deeply"),
    "a list": (b"- version\n", 1, "is a list"),
    "a word": (b"readers\n", 1, "is 'readers'"),
}


@pytest.mark.parametrize(("raw", "line", "problem"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_is_no_fleet_is_one_problem_of_the_file(
    tmp_path: Path, raw: bytes, line: int, problem: str
) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes(raw)
    (found,) = problems_of(file)
    assert (found.line, found.key) == (line, "file")
    assert problem in found.problem


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    assert "does not exist" in problems_of(tmp_path / "none.yaml")[0].problem
    assert "is a folder" in problems_of(tmp_path)[0].problem


def test_aliases_of_aliases_do_not_unfold_without_bound(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    file = tmp_path / "fleet.yaml"
    file.write_text("\n".join(lines))
    assert any("unfolds to too much" in problem.problem for problem in problems_of(file))


def test_a_list_inside_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text("version: 1\nname: &n [*n]\n")
    assert [one.line for one in problems_of(file) if "unfolds" in one.problem] == [2]


def test_all_problems_come_at_once_in_the_order_of_the_file(project: Project) -> None:
    text = """\
version: 1
name: readers
parent: KIDS.boss:build
max_dept: 2
children:
  - name: run agent
    description: ${NOWHERE}
    build: KIDS.reader:nothing
    placement:
      concurrency: 0
limits:
  max_hosts: many
"""
    found = problems_of(project.fleet(text))
    assert [(one.line, one.key) for one in found] == [
        (3, "parent"),
        (4, "max_dept"),
        (6, "children[0].name"),
        (7, "children[0].description"),
        (8, "children[0].build"),
        (10, "children[0].placement.concurrency"),
        (12, "limits.max_hosts"),
    ]


def test_children_that_need_more_hosts_than_the_pool_may_have_contradict_it(project: Project) -> None:
    text = GOOD + "    placement: {replicas: [3, 5]}\nlimits:\n  max_hosts: 2\n"
    (found,) = problems_of(project.fleet(text))
    assert (found.line, found.key) == (10, "limits.max_hosts")
    assert "need 3 hosts" in found.problem


def test_lazy_and_shared_children_need_fewer_hosts(project: Project) -> None:
    text = GOOD
    for name, placement in (("one", "lazy: true"), ("two", "share: scope"), ("three", "share: scope")):
        text += f"  - {{name: {name}, description: d, build: KIDS.reader:build, placement: {{{placement}}}}}\n"
    assert len(load_fleet(project.fleet(text + "limits:\n  max_hosts: 2\n")).children) == 4


def test_a_misspelt_child_is_not_blamed_again_where_its_name_is_used(project: Project) -> None:
    found = problems_of(project.fleet(GOOD.replace("- name: reader", "- name: the reader")))
    assert [one.key for one in found] == ["children[0].name"]


def test_a_module_that_fails_while_it_is_imported_is_a_problem_of_the_file(project: Project) -> None:
    project.module("broken", "raise SystemExit(3)")
    (found,) = problems_of(project.fleet(GOOD.replace("KIDS.reader", "KIDS.broken")))
    assert (found.line, found.key) == (7, "children[0].build")
    assert "SystemExit: 3" in found.problem


def test_a_module_that_needs_another_says_which_one_is_missing(project: Project) -> None:
    project.module("needy", "import no_such_library.part")
    (found,) = problems_of(project.fleet(GOOD.replace("KIDS.reader", "KIDS.needy")))
    assert "'no_such_library'" in found.problem
    assert "install no_such_library" in found.remedy


def test_the_value_of_a_reference_never_stands_in_a_message(project: Project) -> None:
    text = GOOD.replace("KIDS.reader:build", "${TOKEN}").replace("name: readers", "name: ${TOKEN}")
    found = problems_of(project.fleet(text), {"TOKEN": "canary value"})
    assert [one.key for one in found] == ["name", "children[0].build"]
    assert not any("canary" in str(one) for one in found)
    assert all("${TOKEN}" in str(one) for one in found)


def test_a_problem_is_one_line_whatever_the_file_holds(project: Project) -> None:
    (found,) = problems_of(project.fleet(GOOD.replace("version: 1", 'version: 1\n"a\\nb\\e[31m": 2')))
    assert "\n" not in str(found)
    assert "\x1b" not in str(found)


def test_an_error_survives_the_way_to_another_process(tmp_path: Path) -> None:
    import pickle

    with pytest.raises(ConfigError) as caught:
        load_fleet(tmp_path / "none.yaml")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.problems == caught.value.problems
    assert str(copy) == str(caught.value)
