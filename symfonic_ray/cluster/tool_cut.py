"""How a batch of tool calls is cut into what goes together. Arithmetic only: knows no tool, no process, no Ray.

One task a call is the wrong grain for most batches: 64 calls that do nothing took 61 ms as a task each and 6 ms in two
shares; 64 waits of 20 ms took 737 ms against 29 ms (DESIGN 6, 2 cores).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

SHARE_CALLS = 8  # a share of fewer is not worth a process of its own beside another
SHARE_TURNS = 16  # times its width: a longer one would leave another slot idle at the end
CHUNK_FROM = 4  # calls for each slot; fewer keep the slots busy more evenly as a task each
CHUNK_CALLS = 64  # what one chunk holds at most, and so what one dead process takes with it


@dataclass(frozen=True, slots=True)
class Cut:
    """What is asked of the cut of one call."""

    kind: Hashable
    """Calls of one kind may stand in one chunk: they have the tool in common."""
    slots: int
    """How many tasks of this kind can run at once, at least 1."""


@dataclass(frozen=True, slots=True)
class Share:
    """A run of calls that go together in one task."""

    start: int
    end: int
    """Exclusive."""
    width: int
    """How many of them run at once."""


def chunked(cuts: Sequence[Cut | None]) -> tuple[tuple[int, ...], ...]:
    """Places of calls that go one after another in one task.

    Args:
        cuts: shape (calls,), in call order; None for a call that must go alone.
    Returns:
        Every place exactly once, in the order of each chunk's first. A kind is chunked when it has at least
        ``CHUNK_FROM`` calls for each of its slots.
    """
    members: dict[Hashable, list[int]] = {}
    for place, cut in enumerate(cuts):
        if cut is not None:
            members.setdefault(cut.kind, []).append(place)
    chunks: list[tuple[int, ...]] = [(place,) for place, cut in enumerate(cuts) if cut is None]
    for places in members.values():
        cut = cuts[places[0]]
        assert cut is not None
        if len(places) < CHUNK_FROM * cut.slots:
            chunks.extend((place,) for place in places)
            continue
        parts = max(cut.slots, ceil(len(places) / CHUNK_CALLS))  # a streaming task costs 4 ms of CPU: no more than that
        chunks.extend(tuple(places[start:end]) for start, end in even_bounds(len(places), parts))
    return tuple(sorted(chunks))


def shares(count: int, *, slots: int, in_flight: int) -> tuple[Share, ...]:
    """Runs of calls that go together in one task each.

    Args:
        count: of the calls.
        slots: how many tasks can run at once, at least 1.
        in_flight: how many calls may, at least 1.
    Returns:
        Every call in one share, in order. As many as there are slots keep to ``in_flight`` together; there are
        more shares than slots only where each would be long.
    """
    if not count:
        return ()
    beside = min(slots, ceil(count / SHARE_CALLS), in_flight)
    width = min(ceil(count / beside), in_flight // beside)
    parts = max(beside, ceil(count / (width * SHARE_TURNS)))
    return tuple(Share(start, end, min(width, end - start)) for start, end in even_bounds(count, parts))


def even_bounds(count: int, parts: int) -> tuple[tuple[int, int], ...]:
    """Bounds of ``parts`` runs of ``count`` things whose lengths differ by one at most; none where ``count`` is 0."""
    edges = [count * part // max(1, parts) for part in range(max(1, parts) + 1)]
    return tuple((start, end) for start, end in pairwise(edges) if end > start)
