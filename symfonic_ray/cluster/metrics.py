"""A pool's figures as Ray's own metrics, which a cluster exports to Prometheus. Knows no hand-off.

Labels are few and bounded: the pool, a child's declared name, outcome and reason of the closed sets. No scope: their
number has no bound.
"""

from __future__ import annotations

from typing import Any

from ray.util.metrics import Counter, Gauge

from symfonic_ray.cluster.fault_log import FaultEvent
from symfonic_ray.cluster.pool_stats import PoolStats


class RayMetrics:
    """Reports a pool to ``ray.util.metrics``; give it to ``pool.report_to``.

    Args:
        pool: the pool's name, as a label.
    """

    def __init__(self, pool: str) -> None:
        self._pool = {"pool": pool}
        faults = ("pool", "child", "outcome", "reason")
        self._undelivered: Any = Counter("symfonic_ray_undelivered", "Hand-offs without an answer.", tag_keys=faults)
        self._hosts: Any = Counter(
            "symfonic_ray_host_events",
            "Hosts killed, restarted or barred.",
            tag_keys=("pool", "child", "kind"),
        )
        self._gauges: dict[str, Any] = {
            name: Gauge(f"symfonic_ray_{name}", words, tag_keys=("pool",))
            for name, words in (
                ("delivered", "Hand-offs answered so far."),
                ("in_flight", "Root hand-offs that run."),
                ("queued", "Root hand-offs that wait."),
                ("live_hosts", "Host processes of scopes."),
                ("warm_hosts", "Blank host processes."),
                ("live_scopes", "Scopes that have a fleet."),
            )
        }

    def fault(self, event: FaultEvent) -> None:
        """Count one fault."""
        if event.outcome:
            labels = {"child": event.child, "outcome": event.outcome, "reason": event.reason}
            self._undelivered.inc(1, tags=self._pool | labels)
        else:
            self._hosts.inc(1, tags=self._pool | {"child": event.child, "kind": event.kind})

    def sample(self, stats: PoolStats) -> None:
        """Set the gauges."""
        for name, gauge in self._gauges.items():
            gauge.set(getattr(stats, name), tags=self._pool)
