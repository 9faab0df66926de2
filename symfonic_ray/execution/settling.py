"""Answers of foreign code that may be sync or async, and whose faults may be contained. Knows no phase."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any


async def settled(value: Any) -> Any:
    """``value``, awaited where it is awaitable. Any: the answer of foreign code."""
    return await value if inspect.isawaitable(value) else value


def is_containable(error: BaseException) -> bool:
    """Whether ``error`` is the fault of the code that was called, not the end of the run that called it.

    A cancellation is the run's own exactly when the current task has been asked to stop.
    """
    if isinstance(error, GeneratorExit):
        return False
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return True
