"""Links of the pages lead somewhere: files and headings are looked up, the web is not asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.conftest import named, pages, prose

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    heads = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def faults(page: Path) -> list[str]:
    wrong = []
    text = _CODE.sub("", prose(page))
    for match in _LINK.finditer(text):
        target = match["target"]
        where = f"{named(page)}:{text[: match.start()].count(chr(10)) + 1}: {target}"
        if "://" in target:
            if not target.startswith("https://"):
                wrong.append(f"{where}: not https")
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            wrong.append(f"{where}: no such file")
        elif anchor and anchor not in anchors(other):
            wrong.append(f"{where}: no such heading; there are {sorted(anchors(other))}")
    return wrong


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    assert not faults(page)


def test_a_broken_link_and_a_broken_anchor_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.docs.conftest.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("# A head\n[x](none.md) [y](#a-head) [z](#b) `[c](code.md)`\n\n```sh\n[d](fenced.md)\n```\n")
    assert [fault.split(": ")[1] for fault in faults(page)] == ["none.md", "#b"]
