"""The tickets of one scope, in order, and the scope's pace. Knows no other scope, no slot, no weight of others."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

TicketT = TypeVar("TicketT", bound=Hashable)

LEAST_RETRY_SECONDS = 0.05
MOST_RETRY_SECONDS = 60.0
UNKNOWN_RETRY_SECONDS = 1.0  # before a scope has completed two hand-offs nothing tells its pace
PACE_WINDOW = 64  # completions; at that many, half of them and half of their time are dropped


class ScopeLine(Generic[TicketT]):
    """A first-in-first-out queue that can lose any member and still tell a member's place.

    Members are numbered as they come. A place is a member's number less the head's, less the gaps between them.
    """

    __slots__ = (
        "_completions",
        "_completions_since",
        "_gaps",
        "_gaps_sorted",
        "_last_completion",
        "_next_number",
        "_numbers",
        "due",
        "in_flight",
        "listed_at",
        "stride",
    )

    def __init__(self, stride: float) -> None:
        self.stride = stride
        """Rounds that one hand-off costs."""
        self.due = 0.0
        """Round from which the scope can pay for its next hand-off."""
        self.listed_at: int | None = None
        """Round at which the scope is listed; None where it is not."""
        self.in_flight = 0
        self._numbers: OrderedDict[TicketT, int] | None = None  # made at the first ticket: most scopes never wait
        self._next_number = 0
        self._gaps: list[int] = []
        self._gaps_sorted = True
        self._completions = -1
        self._completions_since = 0.0
        self._last_completion = 0.0

    def __len__(self) -> int:
        return 0 if self._numbers is None else len(self._numbers)

    def append(self, ticket: TicketT) -> None:
        """Put a ticket at the end.

        Raises:
            ValueError: if it waits already.
        """
        if self._numbers is None:
            self._numbers = OrderedDict()
        elif ticket in self._numbers:
            raise ValueError("that ticket waits already; give each hand-off a ticket of its own")
        self._numbers[ticket] = self._next_number
        self._next_number += 1

    def popleft(self) -> TicketT:
        """Take the ticket that has waited longest."""
        if self._numbers is None:
            raise IndexError("nothing waits")
        return self._numbers.popitem(last=False)[0]

    def clear(self) -> tuple[TicketT, ...]:
        """Take all tickets out, in their order."""
        waiting = () if self._numbers is None else tuple(self._numbers)
        self._numbers = None
        self._gaps.clear()
        return waiting

    def remove(self, ticket: TicketT) -> bool:
        """Take a ticket out from wherever it stands; False where it does not wait."""
        if self._numbers is None or ticket not in self._numbers:
            return False
        self._gaps.append(self._numbers.pop(ticket))
        self._gaps_sorted = False
        if len(self._gaps) > len(self._numbers):  # paid for by the removals that made the gaps
            self._next_number = len(self._numbers)
            for number, waiting in enumerate(self._numbers):
                self._numbers[waiting] = number
            self._gaps.clear()
        return True

    def position(self, ticket: TicketT) -> int | None:
        """1-based place of a ticket; None where it does not wait."""
        number = None if self._numbers is None else self._numbers.get(ticket)
        if number is None or self._numbers is None:
            return None
        if not self._gaps_sorted:
            self._gaps.sort()
            self._gaps_sorted = True
        head = next(iter(self._numbers.values()))
        return 1 + number - head - (bisect_left(self._gaps, number) - bisect_left(self._gaps, head))

    def note_completion(self, now: float) -> None:
        """A hand-off of the scope ended at ``now``, seconds on a monotonic clock."""
        self._completions += 1
        self._last_completion = now
        if not self._completions:
            self._completions_since = now
        elif self._completions >= PACE_WINDOW:
            self._completions //= 2
            self._completions_since += (now - self._completions_since) / 2

    def retry_after_seconds(self) -> float:
        """Seconds after which all that wait now, and one more, have started at the pace seen."""
        if self._completions < 1:
            return UNKNOWN_RETRY_SECONDS
        seconds_each = (self._last_completion - self._completions_since) / self._completions
        return min(max((len(self) + 1) * seconds_each, LEAST_RETRY_SECONDS), MOST_RETRY_SECONDS)
