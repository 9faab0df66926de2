"""A value that belongs to the run in flight. Knows no run, no scope, no task.

Leaving never resets a token: a frame is marked closed and readers skip closed frames. So a frame that is
closed from another task, or by garbage collection, raises nothing and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class _Frame(Generic[T]):
    __slots__ = ("closed", "outer", "value")

    def __init__(self, value: T, outer: _Frame[T] | None) -> None:
        self.value = value
        self.outer = outer
        self.closed = False


class Ambient(Generic[T]):
    """One value per run in flight, nested like the runs are."""

    def __init__(self, name: str) -> None:
        self._variable: ContextVar[_Frame[T] | None] = ContextVar(name, default=None)

    def current(self) -> T | None:
        """The value of the innermost frame that is still open; None outside every frame."""
        frame = self._live()
        return None if frame is None else frame.value

    @contextmanager
    def holding(self, value: T) -> Iterator[T]:
        """Hold ``value`` until the block is left, by whichever task leaves it."""
        frame = _Frame(value, self._live())
        self._variable.set(frame)
        try:
            yield value
        finally:
            frame.closed = True
            if self._variable.get() is frame:  # false when another context does the leaving
                self._variable.set(frame.outer)

    def _live(self) -> _Frame[T] | None:
        frame = self._variable.get()
        while frame is not None and frame.closed:
            frame = frame.outer
        return frame
