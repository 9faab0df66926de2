"""What a question asks about, and what its answer is likely to hold. Knows no file, no score."""

from __future__ import annotations

import re
from dataclasses import dataclass

from actors.terms import folded, question_terms

_ASKS_FOR_A_FIGURE = re.compile(
    r"\b(when|how (many|much|long|far|tall|high|old|big|large|wide|deep|heavy|hot|cold|fast|often|late|early)"
    r"|(what|which) (times?|years?|date|days?|month|hours|number|size|temperature|percentage|price|version|port|age)"
    r"|costs?|prices?|fees?)\b"
)
_FIGURE = re.compile(
    r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|million|once|twice|half|dozen"
    r"|(mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october"
    r"|november|december|noon|midnight|daily|weekly|monthly|yearly|hourly|free|never|always)\b"
)
_ASKS_FOR_A_MEANING = re.compile(r"\W*(what|who)('s|\u2019s| is| are| was| were| does)\b(?!.*\bdo\W*$)")
_MEANING = re.compile(r"\b(is|are|was|were|means?|stands for|refers to)\b")
_FEW_TERMS = 3
_LETTERS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what can be told about it without any file."""

    text: str
    terms: tuple[str, ...]
    """The distinct terms it is about; empty when it holds only stop words."""
    asks_for_a_figure: bool
    """Whether the answer is likely to hold a number, a day or a month (English questions only)."""
    asks_for_a_meaning: bool
    """Whether it asks what or who something is (English questions only)."""

    @classmethod
    def of(cls, text: str) -> Question:
        """Read ``text``."""
        words, about = folded(text), question_terms(text)
        figure = _ASKS_FOR_A_FIGURE.search(words) is not None
        meaning = not figure and len(about) <= _FEW_TERMS and _ASKS_FOR_A_MEANING.match(words) is not None
        return cls(text, about, figure, meaning)

    def fits(self, passage: str) -> bool:
        """Whether ``passage`` holds the kind of thing that is asked for; true when nothing special is."""
        if self.asks_for_a_figure:
            return _FIGURE.search(folded(passage)) is not None
        return not self.asks_for_a_meaning or _MEANING.search(folded(passage)) is not None

    def is_echoed_by(self, passage: str) -> bool:
        """Whether ``passage`` only says the question again."""
        return _LETTERS.findall(folded(passage)) == _LETTERS.findall(folded(self.text))
