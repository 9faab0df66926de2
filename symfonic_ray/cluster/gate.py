"""Who may start next, of all root hand-offs of a pool. A shell over ``FairQueue``: brings the clock and the waiting.

Trees start in the driver, so this is the one place where tenants compete; what a run hands on itself is bounded by
its tree and passes without a ticket, or parents would wait for slots that they hold (docs/decisions/0003-admission.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from symfonic_ray.admission import PoolLimits
from symfonic_ray.admission.fair_queue import FairQueue
from symfonic_ray.admission.verdicts import Admitted, Refused
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import DelegationOutcome
from symfonic_ray.kernel.text import about

Start = Callable[[HandOffFault | None], None]
"""Called once with None when the hand-off holds a slot, or with why it will never get one."""


class Gate:
    """Slots of one pool."""

    def __init__(self, limits: PoolLimits) -> None:
        self._queue: FairQueue[Start] = FairQueue(
            max_in_flight=limits.max_in_flight,
            max_in_flight_per_scope=limits.max_in_flight_per_scope,
            max_queued_per_scope=limits.max_queued_per_scope,
            weights=limits.weights,
        )
        self._all_frozen = False
        self._frozen: set[str] = set()

    def ask(self, scope_key: str, start: Start) -> int | None:
        """Ask for a slot for one hand-off.

        Returns:
            None when it holds one now; else its place in its scope's queue, and ``start`` is called once it has one.
        Raises:
            HandOffFault: outcome ``REFUSED_OVERLOAD``, with a retry hint, or reason ``frozen``.
        """
        self.admit(scope_key)
        verdict = self._queue.ask(scope_key, start)
        if isinstance(verdict, Admitted):
            return None
        if isinstance(verdict, Refused):
            words = (
                f"{verdict.queued} hand-offs of this scope wait already; "
                f"try again in about {about(verdict.retry_after_seconds)} seconds"
            )
            raise HandOffFault(verdict.reason, words, outcome=DelegationOutcome.REFUSED_OVERLOAD)
        return verdict.position

    async def enter(self, scope_key: str, seconds: float) -> int | None:
        """Wait for a slot; the place in the queue at first, None when there was no wait.

        Raises:
            HandOffFault: outcome ``REFUSED_OVERLOAD``.
            TimeoutError: after ``seconds`` in the queue.
        """
        turn = asyncio.get_running_loop().create_future()

        def start(refusal: HandOffFault | None) -> None:
            if refusal is not None:
                if not turn.done():
                    turn.set_exception(refusal)
            elif turn.cancelled():
                self.leave(scope_key)
            else:
                turn.set_result(None)

        position = self.ask(scope_key, start)
        if position is None:
            return None
        try:
            async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
                await turn
        except (asyncio.CancelledError, TimeoutError):
            if not self._queue.withdraw(scope_key, start) and not turn.cancelled() and turn.exception() is None:
                self.leave(scope_key)  # granted in the very tick of the cancellation
            raise
        return position

    def leave(self, scope_key: str) -> None:
        """Give a slot back; whoever is next starts."""
        for start in self._queue.done(scope_key, now=time.monotonic()):
            start(None)

    def freeze(self, scope_key: str | None = None) -> None:
        """Admit nothing of a scope, or of any, from now on; whoever waits is refused."""
        if scope_key is None:
            self._all_frozen = True
        else:
            self._frozen.add(scope_key)
        for key in self._queue.scopes if scope_key is None else (scope_key,):
            for start in self._queue.withdraw_all(key):
                start(frozen_fault())

    def thaw(self, scope_key: str | None = None) -> None:
        """End the freeze of a scope, or the one of all; a scope frozen by its name stays so until it is named."""
        if scope_key is None:
            self._all_frozen = False
        else:
            self._frozen.discard(scope_key)

    def is_frozen(self, scope_key: str) -> bool:
        """Whether a scope takes no work."""
        return self._all_frozen or scope_key in self._frozen

    @property
    def frozen(self) -> tuple[bool, tuple[str, ...]]:
        """Whether all are frozen, and the scopes frozen by name."""
        return self._all_frozen, tuple(sorted(self._frozen))

    def admit(self, scope_key: str) -> None:
        """Pass, unless the scope is frozen.

        Raises:
            HandOffFault: outcome ``REFUSED_OVERLOAD``, reason ``frozen``.
        """
        if self._all_frozen or scope_key in self._frozen:
            raise frozen_fault()

    def withdraw(self, scope_key: str, start: Start) -> bool:
        """Give up a place in the queue; False where there is none any more."""
        return self._queue.withdraw(scope_key, start)

    def busy(self, scope_key: str) -> bool:
        """Whether a scope has anything in flight or waiting."""
        return bool(self._queue.in_flight_of(scope_key) or self._queue.queued_of(scope_key))

    def counts(self, scope_key: str | None = None) -> tuple[int, int]:
        """Hand-offs in flight, and waiting; of one scope, or of all."""
        if scope_key is None:
            return self._queue.in_flight, self._queue.queued
        return self._queue.in_flight_of(scope_key), self._queue.queued_of(scope_key)


def frozen_fault() -> HandOffFault:
    """The refusal of a hand-off of a frozen scope."""
    words = "the scope is frozen by whoever runs this fleet; nothing was run: try again once it is thawed"
    return HandOffFault("frozen", words, outcome=DelegationOutcome.REFUSED_OVERLOAD)
