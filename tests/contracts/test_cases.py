"""The table of reported faults names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "cases.md"


def test_every_test_that_the_table_of_reported_faults_names_is_there() -> None:
    missing = []
    for row in TABLE.read_text().splitlines():
        if not row.startswith("| D"):
            continue
        file = ""
        for named in re.findall(r"`([^`]+)`", row.split("|")[3]):
            path, _, test = named.partition("::")
            file = path or file
            place = ROOT / file
            if not place.exists() or (test and f"def {test}(" not in place.read_text()):
                missing.append(f"{row[2:5]}: {named}")
    assert not missing, missing
