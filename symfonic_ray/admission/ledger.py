"""What each tree of runs may still spend: hand-offs and tokens. Arithmetic only: knows no run, clock or process.

A hand-off is reserved before it starts and never given back here, so the bound is exact whatever dies: what a lost
process had reserved counts as spent. What a run will use in tokens nobody knows before: tokens count once they are
reported, and from the limit on no further hand-off starts.
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
    tokens: int = 0
    """Tokens that the tree is known to have used."""
    token_limit: int | None = None
    """``max_tokens`` of a tree; None for no bound."""

    @property
    def out_of_tokens(self) -> bool:
        """Whether the tree has used as many tokens as it may."""
        return self.token_limit is not None and self.tokens >= self.token_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a tree has spent below its root, as far as it has been reported."""

    delegations: int
    """Hand-offs reserved."""
    tokens: int
    """Model tokens that the answers of its hand-offs told of."""


@dataclass(slots=True)
class _Tree:
    reserved: int = 0
    tokens: int = 0
    touched_at: float = 0.0


class TreeLedger:
    """Reservations of the trees of one pool.

    Args:
        limits: of each tree.
    """

    def __init__(self, limits: RunLimits) -> None:
        self._limit = limits.max_delegations
        self._token_limit = limits.max_tokens
        self._quiet_seconds = limits.max_seconds + QUIET_SECONDS
        self._trees: OrderedDict[tuple[str, str], _Tree] = OrderedDict()

    def lease(self, scope_key: str, root_run_id: str, wanted: int, *, now: float, tokens: int = 0) -> Lease:
        """Note what was used, and reserve up to ``wanted`` hand-offs below one root.

        Args:
            scope_key: whose tree it is; equal run ids of two tenants are two trees.
            root_run_id: the run at the top of it.
            wanted: how many; 0 only notes the tokens.
            now: seconds on a monotonic clock.
            tokens: used since the last time, by answers that have come in.
        """
        tree = self._trees.setdefault((scope_key, root_run_id), _Tree())
        self._trees.move_to_end((scope_key, root_run_id))
        tree.touched_at = now
        tree.tokens += tokens
        out_of_tokens = self._token_limit is not None and tree.tokens >= self._token_limit
        granted = 0 if out_of_tokens else min(wanted, self._limit - tree.reserved)
        tree.reserved += granted
        self._forget_quiet(now)
        return Lease(
            granted=granted,
            limit=self._limit,
            left=self._limit - tree.reserved,
            tokens=tree.tokens,
            token_limit=self._token_limit,
        )

    def spent(self, scope_key: str, root_run_id: str) -> Spent:
        """What a tree has spent; nothing for one that is unknown."""
        tree = self._trees.get((scope_key, root_run_id)) or _Tree()
        return Spent(delegations=tree.reserved, tokens=tree.tokens)

    def _forget_quiet(self, now: float) -> None:
        while len(self._trees) > REMEMBERED_TREES:
            oldest = next(iter(self._trees.values()))
            if now - oldest.touched_at <= self._quiet_seconds:
                return
            self._trees.popitem(last=False)
