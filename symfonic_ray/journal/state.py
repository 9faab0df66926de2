"""What a journal holds, as values. Reads and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from symfonic_ray.journal.index_set import IndexSet


class ItemState(IntEnum):
    """Where an item stands; the numbers are those on disk."""

    STARTED = 1
    DELIVERED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalState:
    """The items of a job by where they stand on disk. An item is in one set, or in none if it never started."""

    delivered: IndexSet
    """Ended with an answer: never run again."""
    failed: IndexSet
    """Ended without an answer, and not started again since."""
    unknown: IndexSet
    """Started and never ended: after a restart nobody knows whether they had their effect."""

    def __repr__(self) -> str:
        return (
            f"<JournalState: {len(self.delivered)} delivered, {len(self.failed)} failed, {len(self.unknown)} unknown>"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """One item that has ended."""

    index: int
    """The item's place among the tasks, from 0."""
    task_digest: str
    """As given when it started; empty where it was never started."""
    call_id: str
    """As given when it started; empty where it was never started."""
    record: Mapping[str, Any] = field(repr=False)
    """The record as plain JSON data; a repr shows nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item as it is written."""

    index: int
    state: ItemState
    task_digest: str
    call_id: str
    record: bytes | None = field(default=None, repr=False)
    """JSON bytes of the record; None while the item has not ended."""


class Progress:
    """Where every item stands, in memory: bits for what has ended, an entry for each item that has not."""

    __slots__ = ("_begun", "_delivering", "delivered", "failed")

    def __init__(self) -> None:
        self._delivering: set[int] = set()  # on the way to the disk
        self.delivered = IndexSet()
        self.failed = IndexSet()
        self._begun: dict[int, tuple[str, str]] = {}

    def claim(self, item: Item) -> bool:
        """Announce an item that goes to the disk; False, and nothing announced, if it was delivered before."""
        if item.index in self.delivered or item.index in self._delivering:
            return False
        if item.state is ItemState.DELIVERED:
            self._delivering.add(item.index)
        return True

    def drop(self, item: Item) -> None:
        """Forget an item that did not get to the disk: it stands where it stood."""
        if item.state is ItemState.DELIVERED:
            self._delivering.discard(item.index)

    def apply(self, item: Item) -> None:
        """Note what is on disk of an item: the last word counts."""
        self._delivering.discard(item.index)
        self._begun.pop(item.index, None)
        self.failed.discard(item.index)
        if item.state is ItemState.STARTED:
            self._begun[item.index] = (item.task_digest, item.call_id)
        elif item.state is ItemState.DELIVERED:
            self.delivered.add(item.index)
        else:
            self.failed.add(item.index)

    def begun(self, index: int) -> tuple[str, str]:
        """Task digest and call id of an item that has started and not ended; two empty strings for any other."""
        return self._begun.get(index, ("", ""))

    def indexes(self) -> IndexSet:
        """Every item that is on disk."""
        known = self.delivered.copy()
        for index in (*self.failed, *self._begun):
            known.add(index)
        return known

    def snapshot(self) -> JournalState:
        """A copy that later items leave alone."""
        return JournalState(delivered=self.delivered.copy(), failed=self.failed.copy(), unknown=IndexSet(self._begun))
