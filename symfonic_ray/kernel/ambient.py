"""A value that belongs to the run in flight. Knows no run, no scope, no task.

Leaving never resets a token: a value is marked closed and readers skip closed ones. So a block that is left by another
task, or by garbage collection, raises nothing and leaves nothing behind.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ambient(Generic[T]):
    """One value per run in flight, nested like the runs are."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def current(self) -> T | None:
        """The value of the innermost block that is still open; None outside every block."""
        block = _INNERMOST.get()
        while block is not None:
            if not block.closed and self in block.values:
                value: T = block.values[self]
                return value
            block = block.outer
        return None

    def holding(self, value: T) -> Holding:
        """Hold ``value`` for a ``with`` block, until it is left, by whichever task leaves it."""
        return Holding(value, {self: value})


class Holding:
    """One block for one value or several; gives ``given``. A class: a generator costs three times as much."""

    __slots__ = ("_given", "closed", "outer", "values")

    def __init__(self, given: Any, values: dict[Ambient[Any], Any]) -> None:
        self._given = given
        self.values = values
        self.outer: Holding | None = None
        """The block around this one that was open when it was entered."""
        self.closed = False

    def __enter__(self) -> Any:
        outer = _INNERMOST.get()
        while outer is not None and outer.closed:  # else a chain of left blocks would be kept alive
            outer = outer.outer
        self.outer = outer
        _INNERMOST.set(self)
        return self._given

    def __exit__(self, *_: object) -> None:
        self.closed = True
        if _INNERMOST.get() is self:  # false when another context does the leaving
            _INNERMOST.set(self.outer)


# One variable for all: a run enters several values at once, and each entry of its own costs as much as all together.
_INNERMOST: ContextVar[Holding | None] = ContextVar("symfonic_ray_innermost", default=None)
