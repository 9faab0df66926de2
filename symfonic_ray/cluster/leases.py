"""Asks the controller's ledger for the hand-offs of trees, for one scope in one process. Decides nothing itself.

One question for as many as wait now, and a refusal is remembered: a wide tree costs a few round trips, not one a
hand-off, and fixed blocks would strand what they reserve (dispatch-notes 4).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.admission import Lease, RunLimits, Spent, TreeLedger
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import DelegationOutcome
from symfonic_ray.kernel.tokens import read_tokens

REMEMBERED_TREES = 10_000  # a tree that is forgotten here only asks again

Ask = Callable[[str, int, int], Awaitable[Lease]]
"""Asks for so many hand-offs below a root, and tells how many tokens were used since the last time."""


@dataclass(slots=True)
class _Tree:
    """What this process knows of one tree."""

    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    asking: asyncio.Task[None] | None = None
    spare: int = 0
    """Reserved for hand-offs that never left this process."""
    refused: Lease | None = None
    used: int = 0
    """Tokens that the ledger has not heard of."""


class Leases:
    """The hand-offs that runs of this process may start.

    Args:
        ask: how the ledger is asked.
        limits_tokens: whether trees have a limit of tokens. Then every hand-off asks, since others may have used them.
    """

    def __init__(self, ask: Ask, *, limits_tokens: bool = False) -> None:
        self._ask = ask
        self._limits_tokens = limits_tokens
        self._trees: OrderedDict[str, _Tree] = OrderedDict()

    async def take(self, root_run_id: str) -> None:
        """Reserve one hand-off below a root.

        Raises:
            HandOffFault: outcome ``REFUSED_BUDGET``; or why the ledger gave no answer, since a doubt never admits.
        """
        tree = self._trees.setdefault(root_run_id, _Tree())
        self._trees.move_to_end(root_run_id)
        self._forget()
        if tree.spare and not self._limits_tokens:
            tree.spare -= 1
            return
        if tree.refused is not None:
            raise _refusal(tree.refused)
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tree.waiting.append(granted)
        if tree.asking is None:
            tree.asking = asyncio.create_task(self._asked(root_run_id, tree))
        await granted

    def settle(self, root_run_id: str, usage: Any) -> None:
        """Count what an answer below a root says it used, its own part where it tells one: the rest was told before.

        Args:
            usage: any provider's form; Any because a child writes it.
        """
        own = usage.get("own") if isinstance(usage, Mapping) else None
        tokens = read_tokens(usage if own is None else own).total_tokens
        if tokens:
            tree = self._trees.setdefault(root_run_id, _Tree())
            tree.used += tokens
            if tree.asking is None:
                tree.asking = asyncio.create_task(self._asked(root_run_id, tree))

    def give_back(self, root_run_id: str) -> None:
        """One that was taken was not used: its hand-off never left. The next one here may have it."""
        if (tree := self._trees.get(root_run_id)) is not None:
            tree.spare += 1

    async def _asked(self, root_run_id: str, tree: _Tree) -> None:
        await asyncio.sleep(0)  # those of the same tick ask together
        waiting: list[asyncio.Future[None]] = []
        try:
            while tree.waiting or tree.used:
                unserved = tree.waiting if self._limits_tokens else _served(tree.waiting, tree)
                waiting, tree.waiting = [one for one in unserved if not one.done()], []
                if not waiting and not tree.used:
                    continue
                used = tree.used
                wanted = max(0, len(waiting) - tree.spare)
                lease = await self._ask(root_run_id, wanted, used)
                tree.used -= used
                if lease.granted < wanted or lease.out_of_tokens:
                    tree.refused = lease
                tree.spare = 0 if lease.out_of_tokens else tree.spare + lease.granted
                for one in _served(waiting, tree):
                    one.set_exception(_refusal(lease))
        except Exception as fault:
            unheard, tree.waiting = [*waiting, *tree.waiting], []
            for one in unheard:
                if not one.done():
                    one.set_exception(fault)
        finally:
            tree.asking = None

    def _forget(self) -> None:
        while len(self._trees) > REMEMBERED_TREES:
            oldest = next(iter(self._trees.values()))
            if oldest.asking is not None:
                return
            self._trees.popitem(last=False)


def _served(waiting: list[asyncio.Future[None]], tree: _Tree) -> list[asyncio.Future[None]]:
    """Let go whom the spare ones suffice for; those that still wait, without the ones cancelled meanwhile."""
    waiting = [one for one in waiting if not one.done()]
    served = min(tree.spare, len(waiting))
    tree.spare -= served
    for one in waiting[:served]:
        one.set_result(None)
    return waiting[served:]


class OwnLedger:
    """A ledger in this process, for a pool that needs no other one and so has no controller."""

    def __init__(self, scope_key: str, limits: RunLimits) -> None:
        self._scope_key = scope_key
        self._ledger = TreeLedger(limits)

    async def ask(self, root_run_id: str, wanted: int, tokens: int) -> Lease:
        """As the controller is asked."""
        return self._ledger.lease(self._scope_key, root_run_id, wanted, now=time.monotonic(), tokens=tokens)

    def spent(self, root_run_id: str) -> Spent:
        """What a tree has spent."""
        return self._ledger.spent(self._scope_key, root_run_id)


def _refusal(lease: Lease) -> HandOffFault:
    if lease.out_of_tokens:
        words = f"this tree of runs may use {lease.token_limit} tokens (max_tokens) and has used {lease.tokens}"
    else:
        words = f"this tree of runs may make {lease.limit} hand-offs (max_delegations) and {lease.left} are left"
    words += "; nothing was run: answer with what is there"
    return HandOffFault("budget", words, outcome=DelegationOutcome.REFUSED_BUDGET)
