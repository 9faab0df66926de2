"""The fleet of the run in flight: who may be handed work from here. Knows no pool and no transport."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from symfonic_ray.delegation.values import DelegationRecord
from symfonic_ray.kernel import Ambient, Holding

if TYPE_CHECKING:
    from symfonic_ray.delegation.capability import DelegationCapability

FleetTasks: TypeAlias = Iterable[tuple[str, Any]] | AsyncIterable[tuple[str, Any]]
"""Pairs of child name and task; a task is a string or JSON-like data."""


class Fleet(Protocol):
    """The children that one scope's runs may hand work to."""

    @property
    def delegation(self) -> DelegationCapability:
        """The capability that a parent agent is given."""
        ...

    async def delegate(self, name: str, task: Any, *, timeout_seconds: float | None = None) -> DelegationRecord:
        """One hand-off; always a record, unless the caller itself is cancelled."""
        ...

    def fan_out(
        self, tasks: FleetTasks, *, in_flight: int = 64, ordered: bool = False
    ) -> AsyncIterator[DelegationRecord]:
        """Many hand-offs, at most ``in_flight`` at once; records as they finish, or in task order."""
        ...


@dataclass(frozen=True, slots=True)
class HandOffStarted:
    """A hand-off was asked for."""

    key: int
    """Tells this hand-off from every other of this process."""
    name: str
    """What was asked; a name that is not a string is its bounded repr."""
    depth: int
    task: str = ""
    """The beginning of the task, on one line."""
    run_id: str = ""
    """Of the child's run, where it comes to one."""
    root_run_id: str = ""
    """Of the run at the top of its tree."""


@dataclass(frozen=True, slots=True)
class HandOffEnded:
    """A hand-off has its record. One whose caller was cancelled gets none and never ends here."""

    key: int | None
    """The key of its ``HandOffStarted``; None for one made further down the tree and reported later."""
    record: DelegationRecord


HandOffEvent: TypeAlias = HandOffStarted | HandOffEnded

FLEET: Ambient[Fleet] = Ambient("symfonic_ray_fleet")


def current_fleet() -> Fleet:
    """The fleet of the run in flight in this context.

    Raises:
        LookupError: outside a run.
    """
    fleet = FLEET.current()
    if fleet is None:
        raise LookupError(
            "no fleet serves this code; call current_fleet() inside a child's run, or hold a fleet with "
            "pool.scope(...) and use that"
        )
    return fleet


def serving(fleet: Fleet) -> Holding:
    """Make ``fleet`` the current one for a ``with`` block; blocks nest."""
    return FLEET.holding(fleet)
