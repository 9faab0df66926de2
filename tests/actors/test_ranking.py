"""Numbers of the ranking."""

from __future__ import annotations

import numpy as np
import pytest

from actors import ranking

NOTHING = np.zeros((1, 2))


def score(own: list[float], near: list[float] | None = None, *, characters: int = 100, fits: bool = True) -> float:
    found = ranking.scores(
        np.array([own]),
        NOTHING if near is None else np.array([near]),
        np.array([characters]),
        np.array([fits]),
        ranking.idf(100, np.array([50, 1])),
    )
    return float(found[0])


def test_a_rare_term_tells_more_than_a_common_one() -> None:
    assert score([0, 1]) > 2 * score([1, 0])


def test_all_terms_once_cover_the_question() -> None:
    assert score([1, 1]) == pytest.approx(1.0)


def test_a_second_term_is_worth_more_than_the_first_one_again() -> None:
    assert score([1, 1]) > score([0, 9])


def test_what_stands_around_counts_less_than_what_is_said() -> None:
    assert 0 < score([0, 0], [0.5, 0.5]) < score([1, 1])


def test_what_is_said_is_not_counted_again_when_it_also_stands_around() -> None:
    assert score([1, 1], [0.5, 0.5]) == score([1, 1])


@pytest.mark.parametrize("characters", [4, 5_000])
def test_a_stump_and_a_monster_score_less_than_a_sentence(characters: int) -> None:
    assert score([1, 1], characters=characters) < score([1, 1])


def test_a_passage_without_the_kind_of_thing_asked_for_scores_less() -> None:
    assert score([1, 1], fits=False) < score([1, 1])


def test_a_term_that_stands_nowhere_has_a_finite_idf() -> None:
    assert np.isfinite(ranking.idf(0, np.array([0]))).all()


def test_the_best_come_first_earlier_ones_among_equals_and_zeros_not_at_all() -> None:
    assert ranking.best(np.array([0.1, 0.5, 0.0, 0.5]), 3) == [1, 3, 0]
