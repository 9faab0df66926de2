"""A bounded wait for the answer of a Ray call. Only the courier awaits one bare, since its caller keeps the time."""

from __future__ import annotations

import asyncio
from typing import Any


async def answer_of(reference: Any, seconds: float) -> Any:
    """The value behind an object reference.

    The remote call is not cancelled when the time runs out: who needs that says so to the host.

    Raises:
        TimeoutError: after ``seconds``.
        ray.exceptions.RayError: whatever Ray says of the call.
    """
    async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
        return await reference
