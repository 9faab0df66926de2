"""What is taken out of words, and what is left alone."""

from __future__ import annotations

import pytest

from symfonic_ray.kernel.redaction import environment_secrets, names_a_secret, redacted
from symfonic_ray.kernel.text import FAILURE_BYTES, failure_line

CANARY = "sk-canary-77c1f0aa"


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "KEY", "APIKEY", "db_password", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "X_CREDENTIALS", "PASSWD"],
)
def test_a_name_that_says_secret_is_one(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "PATH", "SECRETARY", "MAX_TOKENS", ""]
)
def test_a_name_that_only_sounds_like_one_is_none(name: str) -> None:
    assert not names_a_secret(name)


def test_the_longest_secret_goes_first_so_that_no_rest_of_it_is_left() -> None:
    assert redacted("say abcdef-long", {"abcdef": "(A)", "abcdef-long": "(B)"}) == "say (B)"


def test_a_value_too_short_to_guard_anything_is_left_alone() -> None:
    assert redacted("a cat sat", {"a": "X", "": "Y", "cat": "Z"}) == "a cat sat"
    assert environment_secrets({"MAX_TOKEN": "4096", "HF_TOKEN": CANARY}) == {CANARY: "(HF_TOKEN redacted)"}


def test_an_error_s_line_names_the_variable_in_place_of_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", CANARY)
    assert failure_line(ValueError(f"refused {CANARY}!")) == "ValueError: refused (PROVIDER_API_KEY redacted)!"


@pytest.mark.parametrize("before", range(FAILURE_BYTES * 2 - len(CANARY), FAILURE_BYTES * 2 + 1, 3))
def test_a_cut_leaves_no_part_of_a_secret(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", CANARY)
    line = failure_line(ValueError("x" + " " * (before - 1) + CANARY))  # the spaces collapse: what follows is in view
    assert CANARY[:6] not in line
