"""What a model call cost, in tokens. Arithmetic on readings of any provider's form; knows no price and no limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_INPUT = ("input_tokens", "prompt_tokens")  # LangChain and most agents; OpenAI
_OUTPUT = ("output_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A number of tokens, read and written."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    """The provider's own sum, which may count more than the two parts."""

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
        )

    def as_dict(self) -> dict[str, int]:
        """The fields as plain JSON data."""
        return asdict(self)


def read_tokens(usage: Any) -> Tokens:
    """The tokens that ``usage`` tells, by key or attribute; 0 for what it does not tell. Any: providers differ."""
    read = _count(usage, _INPUT)
    written = _count(usage, _OUTPUT)
    total = _count(usage, ("total_tokens",)) or read + written
    return Tokens(input_tokens=read, output_tokens=written, total_tokens=total)


def usage_of(own: Tokens, children: Tokens) -> dict[str, Any]:
    """The usage of a run as its parent reads it: the whole tree at the top, the run's own model calls in ``own``."""
    return {**(own + children).as_dict(), "own": own.as_dict()}


def _count(usage: Any, names: tuple[str, ...]) -> int:
    for name in names:
        value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
        if type(value) is int and value > 0:
            return value
    return 0
