"""How well a passage answers, in numbers: TF-IDF over the terms of the question. Knows no text, no file.

Scores of different files compare when they are made with the idf of all files together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SATURATION = 0.2  # a term said twice counts 1.09 times, said five times 1.15 times
_BEST_CHARACTERS = 220.0  # beyond it the same words say less
_SHORT_CHARACTERS = 25.0
_MISFIT = 0.7

Floats = NDArray[np.float64]


def idf(passages: int, document_frequency: NDArray[np.int64]) -> Floats:
    """How much each term tells: rare ones much, common ones little, always above zero.

    Args:
        passages: how many passages there are in all.
        document_frequency: shape (terms,), in how many passages each term stands.
    Returns:
        Shape (terms,).
    """
    return np.asarray(np.log1p((passages + 1.0) / (document_frequency + 0.5)), dtype=np.float64)


def scores(
    own: Floats, near: Floats, characters: NDArray[np.int64], fits: NDArray[np.bool_], term_idf: Floats
) -> Floats:
    """What share of the question each passage covers, weighted by idf, between 0 and 1.2.

    Args:
        own: shape (passages, terms), how often each term of the question stands in each passage.
        near: shape (passages, terms), 0 to 1, how strongly each term stands around each passage.
        characters: shape (passages,), length of each passage.
        fits: shape (passages,), whether it holds the kind of thing that is asked for.
        term_idf: shape (terms,).
    Returns:
        Shape (passages,).
    """
    said = own * (1.0 + _SATURATION) / (own + _SATURATION)
    covered = np.maximum(said, near) @ term_idf / term_idf.sum()
    length = np.minimum(1.0, (_BEST_CHARACTERS / np.maximum(characters, 1)) ** 0.25)
    length *= np.minimum(1.0, (characters / _SHORT_CHARACTERS) ** 0.25)
    return np.asarray(covered * length * np.where(fits, 1.0, _MISFIT), dtype=np.float64)


def best(passage_scores: Floats, count: int) -> list[int]:
    """The places of the ``count`` best passages above zero, best first, earlier ones first among equals."""
    order = np.argsort(-passage_scores, kind="stable")[:count]
    return [int(place) for place in order if passage_scores[place] > 0]
