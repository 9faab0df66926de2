"""Text of strangers on one line, and errors in words."""

from __future__ import annotations

import pytest

from symfonic_ray.kernel.text import about, clipped, code_point, collapsed, failure_line, is_invisible


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class Odd(Exception):
    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # that is what is odd


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\u200b", "\u202e", "\ufeff", "\ufe0f", "\u3164", "\u00ad"])
def test_what_a_reader_cannot_see_is_invisible(character: str) -> None:
    assert is_invisible(character)
    assert collapsed(f"a{character}b") == "a b"


@pytest.mark.parametrize("character", ["a", " ", "é", "研", "🙂"])
def test_what_a_reader_sees_is_not_invisible(character: str) -> None:
    assert not is_invisible(character)


def test_any_line_break_becomes_one_space() -> None:
    assert collapsed(" a\r\n\tb\u2028c\x85d\ud800e ") == "a b c d e"


def test_a_cut_text_stays_valid_and_says_so() -> None:
    cut = clipped("é" * 10_000)
    assert len(cut.encode()) <= 4096
    assert cut.endswith("(cut)")
    assert clipped("short") == "short"


def test_a_code_point_is_named() -> None:
    assert code_point("\u200b") == "U+200B ZERO WIDTH SPACE"
    assert code_point("\x07") == "U+0007 unnamed"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("no luck"), "ValueError: no luck"),
        (ValueError(), "ValueError"),
        (ValueError("a\nb\x1b[31m"), "ValueError: a b [31m"),
        (Unprintable(), "Unprintable: (its text cannot be printed)"),
        (Odd(), "Odd: (its text cannot be printed)"),
        (SystemExit(3), "SystemExit: 3"),
    ],
    ids=["plain", "empty", "lines", "unprintable", "no text", "exit"],
)
def test_an_error_is_one_line_that_starts_with_its_type(error: BaseException, line: str) -> None:
    assert failure_line(error) == line


def test_an_error_of_megabytes_is_four_kilobytes() -> None:
    assert len(failure_line(ValueError("x" * 5_000_000)).encode()) <= 4096


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.497, "0.5"),
        (0.25, "0.25"),
        (1.98, "2"),
        (34.6, "35"),
        (0.444, "0.44"),
        (99.7, "100"),
        (600.0, "600"),
        (1234.0, "1200"),
        (0.0, "0"),
        (0.003, "0.003"),
    ],
)
def test_seconds_are_told_in_as_few_digits_as_come_near(seconds: float, words: str) -> None:
    assert about(seconds) == words
