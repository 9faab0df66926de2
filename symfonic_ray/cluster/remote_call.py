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
    return await asyncio.wait_for(_awaited(reference), seconds)


async def _awaited(reference: Any) -> Any:
    return await reference
