"""Asks the controller's ledger for the hand-offs of trees, for one scope in one process. Decides nothing itself.

One question for as many as wait now, and a refusal is remembered: a wide tree costs a few round trips, not one a
hand-off, and fixed blocks would strand what they reserve (dispatch-notes 4).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from symfonic_ray.admission import Lease, RunLimits, TreeLedger
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import DelegationOutcome

REMEMBERED_TREES = 10_000  # a tree that is forgotten here only asks again

Ask = Callable[[str, int], Awaitable[Lease]]
"""Asks for so many hand-offs below a root."""


@dataclass(slots=True)
class _Tree:
    """What this process knows of one tree."""

    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    asking: asyncio.Task[None] | None = None
    spare: int = 0
    """Reserved for hand-offs that never left this process."""
    refused: Lease | None = None


class Leases:
    """The hand-offs that runs of this process may start.

    Args:
        ask: how the ledger is asked.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._trees: OrderedDict[str, _Tree] = OrderedDict()

    async def take(self, root_run_id: str) -> None:
        """Reserve one hand-off below a root.

        Raises:
            HandOffFault: outcome ``REFUSED_BUDGET``; or why the ledger gave no answer, since a doubt never admits.
        """
        tree = self._trees.setdefault(root_run_id, _Tree())
        self._trees.move_to_end(root_run_id)
        self._forget()
        if tree.spare:
            tree.spare -= 1
            return
        if tree.refused is not None:
            raise _refusal(tree.refused)
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tree.waiting.append(granted)
        if tree.asking is None:
            tree.asking = asyncio.create_task(self._asked(root_run_id, tree))
        await granted

    def give_back(self, root_run_id: str) -> None:
        """One that was taken was not used: its hand-off never left. The next one here may have it."""
        if (tree := self._trees.get(root_run_id)) is not None:
            tree.spare += 1

    async def _asked(self, root_run_id: str, tree: _Tree) -> None:
        await asyncio.sleep(0)  # those of the same tick ask together
        waiting: list[asyncio.Future[None]] = []
        try:
            while tree.waiting:
                waiting, tree.waiting = _served(tree.waiting, tree), []
                if not waiting:
                    continue
                lease = await self._ask(root_run_id, len(waiting))
                if lease.granted < len(waiting):
                    tree.refused = lease
                tree.spare += lease.granted
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


def own_ledger(scope_key: str, limits: RunLimits) -> Ask:
    """A ledger in this process, for a pool that needs no other one and so has no controller."""
    ledger = TreeLedger(limits)

    async def ask(root_run_id: str, wanted: int) -> Lease:
        return ledger.lease(scope_key, root_run_id, wanted, now=time.monotonic())

    return ask


def _refusal(lease: Lease) -> HandOffFault:
    words = (
        f"this tree of runs may make {lease.limit} hand-offs (max_delegations) and {lease.left} are left; "
        "nothing was run: answer with what is there"
    )
    return HandOffFault("budget", words, outcome=DelegationOutcome.REFUSED_BUDGET)
