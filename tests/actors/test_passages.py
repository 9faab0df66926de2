"""Sentences with their lines; what is noise; exactness on hostile text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.passages import Passage, passages


def texts(text: str, *, markdown: bool = True) -> list[str]:
    return [passage.text for passage in passages(text, markdown=markdown)]


def places(passage: Passage) -> list[tuple[int, str]]:
    return [(segment.line, segment.text) for segment in passage.segments]


def test_two_sentences_of_a_line_are_two_passages() -> None:
    assert texts("The dome is round. The hill is steep!") == ["The dome is round.", "The hill is steep!"]


def test_a_wrapped_sentence_has_a_segment_on_each_of_its_lines() -> None:
    first, second = passages("The dome was built by shipwrights who\nknew oak. It is round today.")
    assert places(first) == [(1, "The dome was built by shipwrights who"), (2, "knew oak.")]
    assert places(second) == [(2, "It is round today.")]


def test_lines_are_numbered_from_the_first_line_given() -> None:
    (passage,) = passages("\n\nThe dome is round.", first_line=41)
    assert places(passage) == [(43, "The dome is round.")]


def test_records_of_a_log_do_not_run_together() -> None:
    log = "2025-01-01 fog until midnight and then some more\n2025-01-02 clear sky all through the long night"
    assert len(texts(log)) == 2


def test_lines_of_a_program_do_not_run_together() -> None:
    assert len(texts("total = price + tax\nresult = total * 2\nprint the result", markdown=False)) == 3


@pytest.mark.parametrize(
    "abbreviation", ["Dr. Brandt came late.", "It costs approx. 5 coins.", "J. R. Venn taught us."]
)
def test_an_abbreviation_does_not_end_a_sentence(abbreviation: str) -> None:
    assert texts(abbreviation) == [abbreviation]


def test_a_small_letter_after_the_dot_goes_on_with_the_sentence() -> None:
    assert texts("Open until 5 p.m. on all days.") == ["Open until 5 p.m. on all days."]


def test_ideographic_stops_end_sentences() -> None:
    assert texts("天文台は金曜日に開く。入場は無料です。") == ["天文台は金曜日に開く。", "入場は無料です。"]


@pytest.mark.parametrize(
    "noise",
    [
        "# A heading alone",
        "A heading alone\n===============",
        "A HEADING IN CAPITALS",
        "**A bold heading**",
        "<h2>A tagged heading</h2>",
        "| --- | --- |",
        "-----------",
        "```\ncode with many words in it\n```",
        "~~~~\ncode with ``` inside\n~~~~",
        "---\ntitle: The front matter\n---",
        "- [The guide](guide.md)\n- [The other guide](other.md)",
        "[guide]: https://example.org/guide of the dome",
        "https://example.org/a/long/address",
        "![A picture of the dome](dome.png)",
        '<li><a href="#x">The dome itself</a></li>',
        "Word",
        "Is the dome open?",
        "The domes are these:",
        "A notice.\n\nCopyright by the society.\n\nMore.\n\nCopyright by the society.\n\nCopyright by the society.",
    ],
    ids=lambda text: text.split("\n")[0][:24],
)
def test_noise_is_no_passage(noise: str) -> None:
    assert not [text for text in texts(noise) if text != "A notice."]


def test_text_after_a_code_block_and_front_matter_is_read() -> None:
    assert texts("---\na: b\n---\n```\ncode of it\n```\nThe dome is round.") == ["The dome is round."]


def test_a_slice_that_begins_inside_code_says_so() -> None:
    text = "still some code\n```\nThe dome is round."
    assert [passage.text for passage in passages(text, markdown=True, fence="```")] == ["The dome is round."]


def test_plain_text_has_no_code_blocks() -> None:
    assert texts("```\nThe dome is round.\n```", markdown=False) == ["The dome is round."]


def test_markers_of_items_and_quotes_are_left_out_of_the_segment() -> None:
    assert texts("> - The dome is round.\n2. The hill is steep.") == ["The dome is round.", "The hill is steep."]


def test_a_row_is_a_passage_and_the_head_of_its_table_leads_it() -> None:
    (row,) = passages("| Ticket | Price |\n|---|---|\n| Student | 5.50 |", markdown=True)
    assert (row.text, row.lead) == ("| Student | 5.50 |", "| Ticket | Price |")


def test_a_passage_knows_its_headings() -> None:
    found = passages("# Visiting\n## Hours\nFriday at ten.\n## Price\nIt is free.", markdown=True)
    assert [passage.heading for passage in found] == ["Visiting / Hours", "Visiting / Price"]


def test_the_paragraph_after_a_question_knows_it_and_the_next_one_does_not() -> None:
    found = passages("Is it open?\n\nYes, on Friday.\n\nThe hill is steep.")
    assert [passage.lead for passage in found] == ["Is it open?", ""]


def test_every_item_after_a_colon_knows_the_line_with_the_colon() -> None:
    found = passages("You may bring:\n\n- a warm coat\n- a red torch\n\nThe hill is steep.")
    assert [passage.lead for passage in found] == ["You may bring:", "You may bring:", ""]


def test_a_sentence_knows_the_one_before_it() -> None:
    assert [p.before for p in passages("The comet was found. It returns soon.")] == ["", "The comet was found."]


def test_a_mark_of_byte_order_and_carriage_returns_are_no_text() -> None:
    (passage,) = passages("\ufeffThe dome is round.\r\n")
    assert places(passage) == [(1, "The dome is round.")]


def test_lines_that_end_in_two_characters_are_read_like_lines_that_end_in_one() -> None:
    head = "---\na: b\n---\nHead of it\n==========\n"
    text = f"{head}| a | b |\n|---|---|\n| c | d |\n\n```\ncode\n```\n\nThe dome was\nround."
    assert passages(text.replace("\n", "\r\n"), markdown=True) == passages(text, markdown=True)


@pytest.mark.parametrize("odd", ["\x0c", "\x85", "\u2028", "\u2029", "\x0b", "\x1c", "\r"])
def test_an_odd_separator_ends_a_sentence_and_not_a_line(odd: str) -> None:
    found = passages(f"The dome is round{odd}The hill is steep\nThe bus is late.")
    assert [places(passage) for passage in found] == [
        [(1, "The dome is round")],
        [(1, "The hill is steep")],
        [(2, "The bus is late.")],
    ]


def test_tabs_stay_inside_a_segment() -> None:
    assert texts("The\tdome is\tround.") == ["The\tdome is\tround."]


def test_a_very_long_line_comes_in_pieces_of_at_most_400_characters() -> None:
    words = [f"word{number}" for number in range(500)]
    found = passages(" ".join(words))
    assert all(len(passage.text) <= 400 for passage in found)
    assert " ".join(passage.text for passage in found).split() == words


ODD = st.text(
    st.one_of(
        st.sampled_from("aB .?!:;|#->*`~_=[]()\t\r\x0c\x85\u2028\u200f\ufeff\x00\x1b。天é1"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)


@given(st.lists(ODD, max_size=12), st.booleans(), st.integers(1, 1000))
def test_every_segment_is_an_exact_part_of_its_line(lines: list[str], markdown: bool, first_line: int) -> None:
    text = "\n".join(lines)
    numbered = dict(enumerate(text.split("\n"), first_line))
    for passage in passages(text, first_line=first_line, markdown=markdown):
        assert passage.segments
        for segment in passage.segments:
            assert segment.text in numbered[segment.line]
            assert segment.text.strip() == segment.text != ""


@given(
    st.lists(
        st.sampled_from(["The dome is round and", "made of oak. Its", "- item of a list", "| a | row |", "", "# Head"]),
        max_size=12,
    )
)
def test_segments_go_down_the_text_in_order(lines: list[str]) -> None:
    places = [segment.line for passage in passages("\n".join(lines), markdown=True) for segment in passage.segments]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "unit", [".", "-", "a(", "<!--", "[", "a | ", "#", "?*", 'a.""', "\x01", "QUJD\n", "x \n", "(((", " "]
)
def test_hostile_text_takes_time_in_proportion_to_its_length(unit: str) -> None:
    started = time.process_time()
    passages(unit * (400_000 // len(unit)) + "x", markdown=True)
    assert time.process_time() - started < 8.0  # under one second each; growth with the square would take minutes
