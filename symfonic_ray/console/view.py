"""What a watcher is shown, built from events and figures. Bounded; knows no server and no pool's inside.

Every row has the number of its last change, so that a page that was told everything up to one number is sent the rest.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any

from symfonic_ray.cluster.pool_stats import PoolStats
from symfonic_ray.delegation.fleet import HandOffEnded, HandOffEvent, HandOffStarted
from symfonic_ray.delegation.values import DelegationRecord
from symfonic_ray.kernel.text import clipped, collapsed

KEPT_RUNS = 2_000
KEPT_FAILURES = 200
WORDS_BYTES = 600
SHOWN_SCOPES = 500


class View:
    """One pool as it stands.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._runs: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._failures: deque[dict[str, Any]] = deque(maxlen=KEPT_FAILURES)
        self._change = 0
        self._numbers = 0
        self.dropped = 0
        """Runs that are shown no more, since there were so many."""

    @property
    def change(self) -> int:
        """Number of the last change."""
        return self._change

    def tell(self, scope_key: str, event: HandOffEvent) -> None:
        """Take in one event of a scope."""
        if isinstance(event, HandOffStarted):
            self._put(f"{scope_key} {event.key}", _started(scope_key, event, self._clock()))
        elif isinstance(event, HandOffEnded):
            self._ended(scope_key, event)

    def _ended(self, scope_key: str, event: HandOffEnded) -> None:
        record = event.record
        if event.key is None:
            self._numbers += 1
            key, row = f"{scope_key} below {self._numbers}", _below(scope_key, record, self._clock())
        else:
            key = f"{scope_key} {event.key}"
            row = self._runs.get(key) or _below(scope_key, record, self._clock())
        row |= {
            "outcome": record.outcome.value,
            "reason": record.reason,
            "seconds": round(record.seconds, 3),
            "run_id": record.run_id,
            "root_run_id": record.root_run_id,
            "parent_run_id": record.parent_run_id or "",
            "words": "" if record.outcome.delivered else _words(record.message),
        }
        self._put(key, row)
        if not record.outcome.delivered:
            self._failures.appendleft(row)

    def _put(self, key: str, row: dict[str, Any]) -> None:
        self._change += 1
        row |= {"key": key, "change": self._change}
        self._runs[key] = row
        self._runs.move_to_end(key)
        while len(self._runs) > KEPT_RUNS:
            self._drop()

    def _drop(self) -> None:
        """Forget the oldest run that has ended, or the oldest of all."""
        oldest = next((key for key, row in self._runs.items() if row["outcome"]), next(iter(self._runs)))
        del self._runs[oldest]
        self.dropped += 1

    def since(self, change: int, stats: PoolStats, pool: str) -> dict[str, Any]:
        """What has changed after a number, as plain JSON data, with the figures as they are now.

        Args:
            change: what the watcher was told up to; 0 for everything.
            stats: of the pool.
            pool: its name.
        """
        return {
            "pool": pool,
            "at": self._clock(),
            "change": self._change,
            "figures": _figures(stats),
            "scopes": [_scope(key, one) for key, one in list(stats.scopes.items())[:SHOWN_SCOPES]],
            "more_scopes": max(0, len(stats.scopes) - SHOWN_SCOPES),
            "undelivered": dict(stats.undelivered),
            "runs": [row for row in reversed(self._runs.values()) if row["change"] > change][:KEPT_RUNS],
            "failures": [row for row in self._failures if row["change"] > change],
            "dropped": self.dropped,
        }


def _started(scope_key: str, event: HandOffStarted, now: float) -> dict[str, Any]:
    return {
        "scope_key": scope_key,
        "child": _words(event.name),
        "depth": event.depth,
        "task": _words(event.task),
        "started_at": now,
        "outcome": "",
        "reason": "",
        "seconds": None,
        "run_id": event.run_id,
        "root_run_id": event.root_run_id,
        "parent_run_id": "",
        "words": "",
    }


def _below(scope_key: str, record: DelegationRecord, now: float) -> dict[str, Any]:
    name = record.name if isinstance(record.name, str) else repr(record.name)
    return _started(scope_key, HandOffStarted(0, name, record.depth), now - record.seconds)


def _figures(stats: PoolStats) -> Mapping[str, Any]:
    names = ("live_scopes", "live_hosts", "warm_hosts", "in_flight", "queued", "delivered", "frozen")
    return {name: getattr(stats, name) for name in names}


def _scope(key: str, one: Any) -> dict[str, Any]:
    names = ("holds", "hosts", "in_flight", "queued", "closing", "frozen")
    return {"key": key, **{name: getattr(one, name) for name in names}, "quarantined": dict(one.quarantined)}


def _words(text: str) -> str:
    return clipped(collapsed(text), limit_bytes=WORDS_BYTES)
