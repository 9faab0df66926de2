"""When a failed attempt is made again, and after how long. Arithmetic only: sleeps not, calls nothing.

It alone repeats a call: every dispatcher switches its platform's own retries off.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import dataclass

CANCELLATIONS = (asyncio.CancelledError, concurrent.futures.CancelledError)


class WorkerDiedError(RuntimeError):
    """The process that ran a tool is gone: whether the tool did its work is not known."""

    def __init__(self, tool_name: str) -> None:
        super().__init__(tool_name)
        self.tool_name = tool_name

    def __str__(self) -> str:
        return f"the process that ran {self.tool_name!r} died; whether the call took effect is not known"


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """How often a call is tried."""

    max_attempts: int = 1
    """Attempts in all; below 1 means 1."""
    backoff_seconds: float = 0.0
    """The pause after the first attempt; none where 0 or less."""
    multiplier: float = 2.0
    """How much longer each further pause is."""
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    """The tool's own exception types that are worth another attempt."""

    def delay_for(self, attempt: int) -> float:
        """Seconds to wait after attempt number ``attempt``, which counts from 1."""
        if self.backoff_seconds <= 0:
            return 0.0
        return float(self.backoff_seconds * self.multiplier ** (attempt - 1))

    def should_retry(self, attempt: int, exc: BaseException, *, idempotent: bool = False) -> bool:
        """Whether to go on after attempt number ``attempt`` ended in ``exc``.

        A cancellation is never retried. A dead worker may have done its work already, so it is retried only where
        ``retry_on`` names ``WorkerDiedError`` itself, or the tool is ``idempotent``.
        """
        if isinstance(exc, CANCELLATIONS) or attempt >= max(1, self.max_attempts):
            return False
        if isinstance(exc, WorkerDiedError) and not idempotent:
            return any(issubclass(listed, WorkerDiedError) for listed in self.retry_on)
        return isinstance(exc, self.retry_on)
