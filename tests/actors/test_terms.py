"""Words, stems and what a question is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.question import Question
from actors.terms import beginnings, folded, is_kin, question_terms, stem, terms


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        (("open", "opens", "opened", "opening"), "open"),
        (("study", "studies", "studied", "studying"), "studi"),
        (("close", "closes", "closed", "closing"), "clos"),
        (("plan", "plans", "planned", "planning"), "plan"),
        (("box", "boxes", "boxing"), "box"),
        (("class", "classes"), "class"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_the_plain_forms_of_a_word_share_a_stem(forms: tuple[str, ...], root: str) -> None:
    assert {stem(form) for form in forms} == {root}


@pytest.mark.parametrize("word", ["gas", "bus", "bring", "sing", "bed", "need", "this", "python3", "the"])
def test_a_word_whose_ending_is_no_ending_keeps_it(word: str) -> None:
    assert stem(word) == word


def test_case_accents_and_full_width_forms_do_not_matter() -> None:
    assert terms("CAFÉ ｃａｆé café") == terms("cafe cafe cafe")


def test_a_possessive_is_the_word_itself() -> None:
    assert terms("the observatory's dome") == terms("the observatory dome")


def test_text_without_spaces_between_words_gives_pairs_of_characters() -> None:
    assert terms("天文台は") == ["天文", "文台", "台は"]


def test_vowel_signs_do_not_cut_a_word() -> None:
    assert len(terms("हिन्दी भाषा")) == 2


def test_stop_words_say_nothing_about_the_subject() -> None:
    assert question_terms("When is the observatory open?") == ("observatori", "open")
    assert question_terms("What is it that you do?") == ()


def test_a_question_has_at_most_64_terms() -> None:
    assert len(question_terms(" ".join(f"word{number}" for number in range(1000)))) == 64


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [("visit", "visitor", True), ("price", "cost", True), ("star", "start", False), ("dome", "moon", False)],
)
def test_kin_are_long_beginnings_and_families(one: str, other: str, kin: bool) -> None:
    assert is_kin(one, other) is kin


@given(st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_a_word_holds_a_beginning_of_its_own_term(word: str) -> None:
    assert all(any(start in folded(word) for start in beginnings(term)) for term in terms(word))


@pytest.mark.parametrize(
    ("question", "passage", "fits"),
    [
        ("When does it open?", "It opens at noon.", True),
        ("When does it open?", "It opens slowly.", False),
        ("How many domes are there?", "There are two domes.", True),
        ("What is a dome?", "A dome is a round roof.", True),
        ("What is a dome?", "Under the dome, quietly.", False),
        ("Why is the dome green?", "Because of the war.", True),
    ],
)
def test_a_question_knows_what_kind_of_thing_answers_it(question: str, passage: str, fits: bool) -> None:
    assert Question.of(question).fits(passage) is fits


def test_a_question_knows_its_echo() -> None:
    question = Question.of("When is it open?")
    assert question.is_echoed_by("**when is it OPEN**")
    assert not question.is_echoed_by("It is open when the flag is up.")
