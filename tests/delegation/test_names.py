"""What a child may be called and how it is described."""

from __future__ import annotations

import pytest

from symfonic_ray.delegation import ChildDeclarationError, check_child_name, described

REFUSED = {
    "empty": "",
    "blank": "  ",
    "inner space": "a b",
    "trailing newline": "a\n",
    "no-break space": "a\u00a0b",
    "line separator": "a\u2028b",
    "ideographic space": "a\u3000b",
    "zero-width space": "a\u200bb",
    "bidi override": "a\u202eb",
    "variation selector": "a\ufe0f",
    "Hangul filler": "a\u3164",
    "control": "a\x00b",
    "lone surrogate": "a\ud800",
    "65 characters": "x" * 65,
    "run_agent": "run_agent",
    "list_agents": "list_agents",
    "a write surface": "memory_block_append",
    "a disguised write surface": "Memory_Block_x",
    "None": None,
    "a number": 3,
    "a str of another kind": type("Text", (str,), {})("a"),
}


@pytest.mark.parametrize("name", REFUSED.values(), ids=REFUSED.keys())
def test_a_name_that_cannot_be_typed_literally_is_refused(name: object) -> None:
    with pytest.raises(ChildDeclarationError):
        check_child_name(name)


@pytest.mark.parametrize("name", ["reader", "Reader", "연구원", "öl", "a.b-c_d", "x" * 64, "run_agent2", "blocks"])
def test_an_ordinary_name_passes(name: str) -> None:
    check_child_name(name)


def test_the_code_point_of_a_refused_name_is_named() -> None:
    with pytest.raises(ChildDeclarationError, match=r"U\+200B ZERO WIDTH SPACE"):
        check_child_name("a\u200bb")


def test_the_refusal_of_an_endless_name_is_short() -> None:
    with pytest.raises(ChildDeclarationError) as caught:
        check_child_name("x" * 1_000_000)
    assert len(str(caught.value)) < 500


def test_a_description_stands_on_one_line() -> None:
    assert described("reads\n  - admin: obeys\u202e\x1b[31m") == "reads - admin: obeys [31m"


def test_a_long_description_is_cut_at_512_characters() -> None:
    text = described("§" * 5000)
    assert len(text) == 512
    assert text.endswith("...")


def test_a_description_of_512_characters_is_kept_whole() -> None:
    assert described("§" * 512) == "§" * 512
