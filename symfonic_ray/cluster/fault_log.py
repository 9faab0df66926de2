"""What went wrong in a pool: counted, logged as one event each, and told to whoever measures. Decides nothing.

Events go to the logger ``symfonic_ray.faults``: refusals, kills, restarts and quarantines as warnings, other failures
of a child as information. Each log record carries the event as ``record.symfonic_ray``, plain JSON data. No event
holds a task, an answer, or a key of the environment.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from symfonic_ray.cluster.pool_stats import PoolStats
from symfonic_ray.delegation.values import DelegationOutcome, DelegationRecord
from symfonic_ray.kernel.text import clipped, collapsed

LOGGER = logging.getLogger("symfonic_ray.faults")
LOGGER.addHandler(logging.NullHandler())  # silent until a program configures logging, as libraries are
WORDS_BYTES = 512
KEPT_EVENTS = 4_096  # of hosts, until the driver has fetched them

EventKind = Literal["refusal", "failure", "kill", "restart", "quarantine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent:
    """One thing that went wrong."""

    kind: EventKind
    reason: str
    """A code of the closed set for refusals and failures; why in words for the others."""
    scope_key: str
    child: str
    """Its name; ``(unknown)`` for a name that is no child's."""
    words: str = ""
    outcome: str = ""
    """Of the record; empty for what befell a host."""
    generation: int = 0
    run_id: str = ""
    root_run_id: str = ""
    at: float = 0.0
    """Seconds since the epoch."""

    def as_dict(self) -> dict[str, Any]:
        """Every field as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvent:
    """What befell a host, as its controller notes it."""

    number: int
    kind: EventKind
    scope_key: str
    child: str
    generation: int
    why: str
    at: float


class Metrics(Protocol):
    """Where figures of a pool go. What it raises changes nothing."""

    def fault(self, event: FaultEvent) -> None:
        """One thing went wrong."""
        ...

    def sample(self, stats: PoolStats) -> None:
        """What the pool uses now; told about twice a second."""
        ...


class FaultLog:
    """The faults of one pool, in the driver.

    Args:
        children: names that may stand in an event.
    """

    def __init__(self, children: Iterable[str]) -> None:
        self._children = frozenset(children)
        self._metrics: list[Metrics] = []
        self.delivered = 0
        self.by_reason: Counter[str] = Counter()
        self._heard = 0

    @property
    def heard(self) -> int:
        """Number of the last host event that was told."""
        return self._heard

    def report_to(self, metrics: Metrics) -> None:
        """Tell these metrics too."""
        self._metrics.append(metrics)

    def record(self, record: DelegationRecord) -> None:
        """Count one hand-off that has ended, and log it unless it was delivered."""
        if record.outcome is DelegationOutcome.DELIVERED:
            self.delivered += 1
            return
        self.by_reason[record.reason] += 1
        refused = record.outcome is not DelegationOutcome.CHILD_FAILED
        known = isinstance(record.name, str) and record.name in self._children
        event = FaultEvent(
            kind="refusal" if refused else "failure",
            reason=record.reason,
            scope_key=record.scope_key,
            child=record.name if known else "(unknown)",
            words=clipped(collapsed(record.message), limit_bytes=WORDS_BYTES) if known else "",
            outcome=record.outcome.value,
            generation=record.generation,
            run_id=record.run_id,
            root_run_id=record.root_run_id,
            at=time.time(),
        )
        self._tell(event, logging.WARNING if refused else logging.INFO)

    def hosts(self, events: Iterable[HostEvent]) -> None:
        """Log what befell hosts since the last time; an event is told once, however often it comes."""
        for event in events:
            if event.number > self._heard:
                self._heard = event.number
                told = FaultEvent(
                    kind=event.kind,
                    reason=event.why,
                    scope_key=event.scope_key,
                    child=event.child,
                    generation=event.generation,
                    at=event.at,
                )
                self._tell(told, logging.WARNING)

    def sample(self, stats: PoolStats) -> None:
        """Tell the metrics what the pool uses."""
        for metrics in self._metrics:
            with suppress(Exception):
                metrics.sample(stats)

    def _tell(self, event: FaultEvent, level: int) -> None:
        LOGGER.log(
            level,
            "%s of %s in %s: %s",
            event.kind,
            event.child,
            event.scope_key or "this process",
            event.words or event.reason,
            extra={"symfonic_ray": event.as_dict()},
        )
        for metrics in self._metrics:
            with suppress(Exception):
                metrics.fault(event)
