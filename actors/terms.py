"""What counts as a word, and when two words are one. Knows no file, no score, no sentence."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_QUESTION_TERMS = 64  # a question is a sentence or two; a pasted page would cost every reader a column a word

# Words that say nothing about the subject of an English question.
_STOP_WORDS = (
    "a about after again all allow allowed also am an and any anybody anyone are aren as ask at back be became "
    "because become becomes becoming been before being but by can come comes could couldn currently describe did didn "
    "do does doesn doing don done each either else ever every explain find for from get give given go goes going had "
    "hadn happen happened happening happens has hasn have haven having he help her here him his how i if in into is "
    "isn it its itself just kind know let like made make makes making many may me mean means meant might mine more "
    "most much must my myself need no nor not of off on one only or other our out over own please possible put say "
    "see shall she should shouldn show so some somebody someone something such take takes tell than that the their "
    "them then there these they thing things this those through to too took under until up us use used uses using "
    "very want wanted wants was wasn way we were weren what whatever when where whether which while who whom whose "
    "why will with work works would wouldn yes you your "
)
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Stems of irregular forms and of everyday words for one thing, which no rule on endings brings together.
_FAMILIES = (
    "cost price fee charge pay paid",
    "begin began begun start",
    "end finish",
    "big large size",
    "high height tall",
    "find found discover",
    "build built",
    "child children",
    "person people",
    "buy bought purchas",
    "sell sold",
    "leav left depart",
    "hold held",
    "keep kept",
    "write wrot written",
    "teach taught",
    "phone telephon",
    "delet remov",
    "error fail exception",
)
_FAMILY = {term: frozenset(family.split()) - {term} for family in _FAMILIES for term in family.split()}
_MIN_SHARED = 5  # characters: "visit" and "visitor" are kin, "star" and "start" are not
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=[^\W_])['\u2019](?:s|t|re|ve|ll|d|m)\b")
# Scripts written without spaces between words: kana, ideographs, Thai, Lao, Myanmar, Khmer.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_SIBILANT = ("s", "x", "z", "ch", "sh")


def folded(text: str) -> str:
    """``text`` without case, accents and compatibility forms, so that spellings of one word compare equal."""
    if text.isascii():
        return text.lower()
    bare = "".join(
        c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.category(c).startswith("M")
    )
    return unicodedata.normalize("NFKC", bare)


def terms(text: str) -> list[str]:
    """The terms of ``text``, in order, stop words and repeats included.

    A term is a stemmed run of letters and digits of any script; a run of a script that puts no spaces between its
    words gives its character pairs instead.
    """
    found: list[str] = []
    for word in _WORD.findall(_APOSTROPHE.sub("", folded(text))):
        if word.isascii():
            found.append(word if word in STOP_WORDS else stem(word))
        else:
            found.extend(_of_foreign_word(word))
    return found


def question_terms(question: str) -> tuple[str, ...]:
    """The distinct terms that say what a question is about, in order of appearance; at most 64."""
    distinct = dict.fromkeys(
        term for term in terms(question) if term not in STOP_WORDS and (len(term) > 1 or term.isdigit())
    )
    return tuple(distinct)[:MAX_QUESTION_TERMS]


def family(term: str) -> frozenset[str]:
    """Other stems that say much the same as ``term``."""
    return _FAMILY.get(term, frozenset())


@lru_cache(maxsize=32_768)
def is_kin(term: str, other: str) -> bool:
    """Whether two stems belong together: one begins with the other, or both are of one family."""
    if min(len(term), len(other)) >= _MIN_SHARED and (other.startswith(term) or term.startswith(other)):
        return True
    return other in family(term)


def beginnings(term: str) -> tuple[str, ...]:
    """Character runs of which any folded word that equals ``term`` or is its kin holds at least one, at its start."""
    return tuple(one[: min(_MIN_SHARED - 1, max(1, len(one) - 1))] for one in (term, *sorted(family(term))))


@lru_cache(maxsize=32_768)  # a text says the same few thousand words again and again
def stem(word: str) -> str:
    """The part that the plain forms of an English word share: ``opening``, ``opened``, ``opens`` give ``open``."""
    if len(word) < 4 or not word.isalpha():
        return word
    root = _without_plural(word)
    for ending in ("ing", "ed"):
        body = root.removesuffix(ending)
        if body != root and len(body) >= 3 and _VOWEL.search(body):
            root = _DOUBLED.sub(r"\1", body)
            break
    if len(root) > 3 and root.endswith("e"):
        return root[:-1]
    if len(root) > 3 and root.endswith("y") and not _VOWEL.match(root[-2]):
        return root[:-1] + "i"
    return root


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("es") and word[:-2].endswith(_SIBILANT):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _of_foreign_word(word: str) -> list[str]:
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            found.append(word[end : run.start()])
        characters = run.group()
        found.extend(characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        end = run.end()
    if end < len(word):
        found.append(word[end:])
    return found
