"""The tables of reported faults, of bad input and of promises name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "cases.md"
BAD_INPUT = ROOT / "docs" / "bad-input.md"
PROMISES = ROOT / "docs" / "promises.md"


def missing_tests(cell: str) -> list[str]:
    """The tests that a cell names and that are not there; ``::name`` stands in the file named before it."""
    missing, file = [], ""
    for named in re.findall(r"`([^`]+)`", cell):
        path, _, test = named.partition("::")
        file = path or file
        place = ROOT / file
        if not place.exists() or (test and f"def {test}(" not in place.read_text()):
            missing.append(named)
    return missing


def rows(page: Path) -> list[list[str]]:
    """The cells of the rows of a page's first table, without its head."""
    after = page.read_text().partition("\n| ")[2]
    lines = [line for line in f"| {after}".partition("\n\n")[0].splitlines() if line.startswith("| ")]
    return [line.strip("|").split(" | ") for line in lines[1:]]


def test_every_test_that_the_table_of_bad_input_names_is_there() -> None:
    assert len(rows(BAD_INPUT)) >= 20
    assert [
        named for row in rows(BAD_INPUT) for named in missing_tests(row[-1]) or ([] if "`" in row[-1] else row)
    ] == []


def test_every_promise_names_what_measures_it() -> None:
    numbers = [row[0].strip() for row in rows(PROMISES)]
    assert numbers == [f"P{number}" for number in range(1, 21)]
    assert [named for row in rows(PROMISES) for named in missing_tests(row[-1])] == []


def test_every_test_that_the_table_of_reported_faults_names_is_there() -> None:
    missing = []
    for row in TABLE.read_text().splitlines():
        if not row.startswith("| D"):
            continue
        missing += [f"{row[2:5]}: {named}" for named in missing_tests(row.split("|")[3])]
    assert not missing, missing
