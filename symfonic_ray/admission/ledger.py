"""How many hand-offs each tree of runs may still make. Arithmetic only: knows no run, no clock and no process.

A hand-off is reserved before it starts and never given back here, so the bound is exact whatever dies: what a lost
process had reserved counts as spent.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from symfonic_ray.admission.limits import RunLimits

REMEMBERED_TREES = 100_000  # about 20 MB; only beyond it are quiet ones forgotten
QUIET_SECONDS = 60.0  # on top of ``max_seconds``, after which no run below a hosted root is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What one asking was given."""

    granted: int
    """Hand-offs that may start."""
    limit: int
    """``max_delegations`` of a tree."""
    left: int
    """Hand-offs that the tree may still reserve after this."""


@dataclass(slots=True)
class _Tree:
    reserved: int = 0
    touched_at: float = 0.0


class TreeLedger:
    """Reservations of the trees of one pool.

    Args:
        limits: of each tree.
    """

    def __init__(self, limits: RunLimits) -> None:
        self._limit = limits.max_delegations
        self._quiet_seconds = limits.max_seconds + QUIET_SECONDS
        self._trees: OrderedDict[tuple[str, str], _Tree] = OrderedDict()

    def lease(self, scope_key: str, root_run_id: str, wanted: int, *, now: float) -> Lease:
        """Reserve up to ``wanted`` hand-offs below one root.

        Args:
            scope_key: whose tree it is; equal run ids of two tenants are two trees.
            root_run_id: the run at the top of it.
            wanted: how many, 1 or more.
            now: seconds on a monotonic clock.
        """
        tree = self._trees.setdefault((scope_key, root_run_id), _Tree())
        self._trees.move_to_end((scope_key, root_run_id))
        tree.touched_at = now
        granted = min(wanted, self._limit - tree.reserved)
        tree.reserved += granted
        self._forget_quiet(now)
        return Lease(granted=granted, limit=self._limit, left=self._limit - tree.reserved)

    def _forget_quiet(self, now: float) -> None:
        while len(self._trees) > REMEMBERED_TREES:
            oldest = next(iter(self._trees.values()))
            if now - oldest.touched_at <= self._quiet_seconds:
                return
            self._trees.popitem(last=False)
