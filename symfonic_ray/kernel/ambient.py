"""A value that belongs to the run in flight. Knows no run, no scope, no task.

Leaving never resets a token: a value is marked closed and readers skip closed ones. So a block that is left by another
task, or by garbage collection, raises nothing and leaves nothing behind.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Cell:
    __slots__ = ("closed", "outer", "value")

    def __init__(self, value: Any, outer: _Cell | None) -> None:
        self.value = value
        self.outer = outer
        self.closed = False


# One variable for all: a run enters several values at once, and each entry of its own costs as much as all together.
_CELLS: ContextVar[dict[Any, _Cell]] = ContextVar("symfonic_ray_cells")
_NONE: dict[Any, _Cell] = {}


class Ambient(Generic[T]):
    """One value per run in flight, nested like the runs are."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def current(self) -> T | None:
        """The value of the innermost block that is still open; None outside every block."""
        cell = _CELLS.get(_NONE).get(self)
        while cell is not None and cell.closed:
            cell = cell.outer
        return None if cell is None else cell.value

    def holding(self, value: T) -> Holding:
        """Hold ``value`` for a ``with`` block, until it is left, by whichever task leaves it."""
        return Holding(value, ((self, value),))


class Holding:
    """One block for one value or several; gives ``given``. A class: a generator costs three times as much."""

    __slots__ = ("_cells", "_given", "_inside", "_outside", "pairs")

    def __init__(self, given: Any, pairs: tuple[tuple[Ambient[Any], Any], ...]) -> None:
        self._given = given
        self.pairs = pairs
        self._cells: tuple[_Cell, ...] = ()
        self._inside = self._outside = _NONE

    def __enter__(self) -> Any:
        outside = self._outside = _CELLS.get(_NONE)
        inside = self._inside = dict(outside)
        cells = []
        for ambient, value in self.pairs:
            outer = outside.get(ambient)
            while outer is not None and outer.closed:
                outer = outer.outer
            cell = inside[ambient] = _Cell(value, outer)
            cells.append(cell)
        self._cells = tuple(cells)
        _CELLS.set(inside)
        return self._given

    def __exit__(self, *_: object) -> None:
        for cell in self._cells:
            cell.closed = True
        if (
            self._inside is not _NONE and _CELLS.get(_NONE) is self._inside
        ):  # false when another context does the leaving
            _CELLS.set(self._outside)
