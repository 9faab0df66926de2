"""Whose hand-off starts next. Decides the order across scopes; knows no pool, no child, no clock.

Deficit round robin. Every round gives each waiting scope a credit of its weight over the greatest weight, and a
hand-off costs one; a scope that cannot pay yet is not visited but listed at the round in which it can. So no scope
is served twice in a round, and a scope that joins is listed behind those that are listed already: it waits for at
most one hand-off of each of them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from heapq import heappop, heappush
from typing import Generic, TypeVar

from symfonic_ray.admission.limits import _positive, _whole
from symfonic_ray.admission.scope_line import ScopeLine
from symfonic_ray.admission.verdicts import Admitted, Queued, Refused

TicketT = TypeVar("TicketT", bound=Hashable)

LONGEST_STRIDE = 1e6  # rounds from one hand-off to the next; keeps the count of rounds exact in a float for ever
_ADMITTED = Admitted()


class FairQueue(Generic[TicketT]):
    """Slots for hand-offs, shared by scopes according to their weights.

    A slot is never left free while a scope below its own cap waits. Every call takes constant time, except that
    finding the next round takes the logarithm of the number of different rounds listed (one, with equal weights).
    A scope that has nothing queued and nothing in flight is forgotten, with its pace and its place.

    Args:
        max_in_flight: slots.
        max_in_flight_per_scope: slots that one scope may hold.
        max_queued_per_scope: tickets of one scope that may wait.
        weights: share of a scope by its key, above 0; 1.0 where a key is not named. A weight below a millionth of
            the greatest counts as a millionth of it.
    Raises:
        LimitError: if a bound is not a whole number or a weight is not a number above 0.
    """

    def __init__(
        self,
        *,
        max_in_flight: int,
        max_in_flight_per_scope: int,
        max_queued_per_scope: int,
        weights: Mapping[str, float] = {},  # read, never written
    ) -> None:
        _whole("max_in_flight", max_in_flight, at_least=1)
        _whole("max_in_flight_per_scope", max_in_flight_per_scope, at_least=1)
        _whole("max_queued_per_scope", max_queued_per_scope, at_least=0)
        for key, weight in weights.items():
            _positive(f"weights[{key!r}]", weight)
        greatest = max((1.0, *weights.values()))
        self._strides = {key: min(greatest / weight, LONGEST_STRIDE) for key, weight in weights.items()}
        self._stride = min(greatest, LONGEST_STRIDE)
        self._most = max_in_flight
        self._most_of_scope = max_in_flight_per_scope
        self._most_queued = max_queued_per_scope
        self._lines: dict[str, ScopeLine[TicketT]] = {}
        self._in_flight = 0
        self._queued = 0
        self._round = 0
        self._listed: dict[int, OrderedDict[str, ScopeLine[TicketT]]] = {}
        self._rounds: list[int] = []  # a heap over the keys of _listed; may hold rounds that are listed no more

    @property
    def in_flight(self) -> int:
        """Hand-offs that hold a slot."""
        return self._in_flight

    @property
    def queued(self) -> int:
        """Tickets that wait."""
        return self._queued

    @property
    def scopes(self) -> tuple[str, ...]:
        """Keys of the scopes that have something queued or in flight."""
        return tuple(self._lines)

    def in_flight_of(self, scope_key: str) -> int:
        """Hand-offs of one scope that hold a slot."""
        line = self._lines.get(scope_key)
        return 0 if line is None else line.in_flight

    def queued_of(self, scope_key: str) -> int:
        """Tickets of one scope that wait."""
        line = self._lines.get(scope_key)
        return 0 if line is None else len(line)

    def position(self, scope_key: str, ticket: TicketT) -> int | None:
        """1-based place of a ticket in its scope's queue; None where it does not wait."""
        line = self._lines.get(scope_key)
        return None if line is None else line.position(ticket)

    def ask(self, scope_key: str, ticket: TicketT) -> Admitted | Queued | Refused:
        """Ask for a slot.

        Args:
            scope_key: whose hand-off it is.
            ticket: what ``done`` returns when a slot is free; hashable, one for each hand-off.
        Returns:
            Admitted, with a slot held; Queued, with the ticket kept; Refused, with nothing kept.
        Raises:
            ValueError: if the ticket waits already.
        """
        line = self._lines.get(scope_key)
        if line is None:
            line = self._lines[scope_key] = ScopeLine(self._strides.get(scope_key, self._stride))
        if self._in_flight < self._most and line.in_flight < self._most_of_scope:
            # nobody is passed over: while a slot is free, no scope below its cap waits
            line.in_flight += 1
            self._in_flight += 1
            return _ADMITTED
        waiting = len(line)
        if waiting >= self._most_queued:
            refused = Refused(queued=waiting, retry_after_seconds=line.retry_after_seconds())
            self._forget_if_idle(scope_key, line)
            return refused
        line.append(ticket)
        self._queued += 1
        if line.listed_at is None and line.in_flight < self._most_of_scope:
            self._list(scope_key, line)
        return Queued(waiting + 1)

    def done(self, scope_key: str, *, now: float) -> tuple[TicketT, ...]:
        """Report that a hand-off of a scope has ended, however it ended.

        Args:
            scope_key: whose hand-off it was.
            now: seconds on a monotonic clock.
        Returns:
            Tickets that hold a slot from now on, in the order in which they are to start.
        Raises:
            ValueError: if the scope has nothing in flight.
        """
        line = self._lines.get(scope_key)
        if line is None or not line.in_flight:
            raise ValueError(f"scope {scope_key!r} has nothing in flight; report each admitted hand-off done once")
        line.in_flight -= 1
        self._in_flight -= 1
        line.note_completion(now)
        if not self._queued:
            self._forget_if_idle(scope_key, line)
            return ()
        if line.listed_at is None and len(line):
            self._list(scope_key, line)
        admitted = self._admit_next()
        self._forget_if_idle(scope_key, line)
        return admitted

    def withdraw(self, scope_key: str, ticket: TicketT) -> bool:
        """Give up a ticket that waits; False where it does not (it was admitted, withdrawn or never asked)."""
        line = self._lines.get(scope_key)
        if line is None or not line.remove(ticket):
            return False
        self._queued -= 1
        if not len(line):
            self._unlist(scope_key, line)
            self._forget_if_idle(scope_key, line)
        return True

    def withdraw_all(self, scope_key: str) -> tuple[TicketT, ...]:
        """Give up every ticket of a scope that waits; gives them in their order."""
        line = self._lines.get(scope_key)
        if line is None or not len(line):
            return ()
        waiting = line.clear()
        self._queued -= len(waiting)
        self._unlist(scope_key, line)
        self._forget_if_idle(scope_key, line)
        return waiting

    def _admit_next(self) -> tuple[TicketT, ...]:
        """Fill the one slot that a ``done`` has freed, if a scope below its cap waits."""
        if not self._listed:
            return ()
        while (members := self._listed.get(self._round)) is None:
            self._round = heappop(self._rounds)
        scope_key, line = next(iter(members.items()))
        self._unlist(scope_key, line)
        ticket = line.popleft()
        line.in_flight += 1
        self._queued -= 1
        self._in_flight += 1
        line.due += line.stride
        if len(line) and line.in_flight < self._most_of_scope:
            self._list(scope_key, line)
        return (ticket,)

    def _list(self, scope_key: str, line: ScopeLine[TicketT]) -> None:
        if line.due <= self._round:  # credit is not saved up while nothing waits
            line.due = self._round + 1.0
        at = line.listed_at = math.ceil(line.due)
        members = self._listed.get(at)
        if members is None:
            members = self._listed[at] = OrderedDict()
            heappush(self._rounds, at)
            if len(self._rounds) > 2 * len(self._listed) + 8:
                self._rounds = sorted(self._listed)
        members[scope_key] = line

    def _unlist(self, scope_key: str, line: ScopeLine[TicketT]) -> None:
        if line.listed_at is not None:
            members = self._listed[line.listed_at]
            del members[scope_key]
            if not members:
                del self._listed[line.listed_at]
            line.listed_at = None

    def _forget_if_idle(self, scope_key: str, line: ScopeLine[TicketT]) -> None:
        if not line.in_flight and not len(line):
            del self._lines[scope_key]
