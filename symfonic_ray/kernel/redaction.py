"""The one point where secrets are taken out of words. Decides what a secret's name looks like and how long a secret
is at least; keeps no secret and knows nothing of models, files or jobs.

What is told it replaces: values that the caller names, and values of environment variables whose names say what they
are. A secret in other clothes, such as base64, is not found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

REDACTED = "(redacted)"
SHORTEST_GIVEN = 4  # a shorter value cannot be told from ordinary text, and guards nothing
SHORTEST_FOUND = 8  # of a variable that only sounds like a secret: MAX_TOKEN=4096 is none

_SECRET_NAME = re.compile(r"(?:^|_)(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE)


def names_a_secret(variable: str) -> bool:
    """Whether a variable's name says that its value is a secret, such as ``OPENAI_API_KEY``."""
    return _SECRET_NAME.search(variable) is not None


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with each secret replaced, the longest first.

    Args:
        text: words for a reader.
        secrets: a secret's value to what stands in its place; values of fewer than 4 characters are left alone.
    """
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= SHORTEST_GIVEN:
            text = text.replace(value, secrets[value])
    return text


def environment_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Values of at least 8 characters whose variables' names say that they are secrets, to ``(NAME redacted)``."""
    return {
        value: f"({name} redacted)"
        for name, value in environment.items()
        if len(value) >= SHORTEST_FOUND and names_a_secret(name)
    }


def without_environment_secrets(text: str) -> str:
    """``text`` without the secrets of this process's environment."""
    return redacted(text, environment_secrets(os.environ))
