"""A bounded wait for the answer of a Ray call. Only the courier awaits one bare, since its caller keeps the time."""

from __future__ import annotations

import asyncio
from typing import Any

from symfonic_ray.cluster.faults import Fault, classify


class CallLostError(RuntimeError):
    """A remote call that gave no answer but a failure; ``fault`` says what that means."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return self.fault.words


async def answer_of(reference: Any, seconds: float) -> Any:
    """The value behind an object reference.

    The remote call is not cancelled when the time runs out: who needs that says so to the host.

    Raises:
        TimeoutError: after ``seconds``.
        CallLostError: for every other failure of the call, with the fault that it stands for.
    """
    async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
        try:
            return await reference
        except Exception as error:
            raise CallLostError(classify(error)) from None
