"""Providers that refuse for now, as one process knows it. Knows no provider, no model and no other process.

A key stands for one account at one provider: what is refused to one caller is refused to all who share the key. While
it is paused nobody asks; afterwards those who waited leave one by one, so that they do not all come at once.
"""

from __future__ import annotations

import asyncio
import email.utils
import hashlib
import math
import random
import time
from collections.abc import Callable
from contextlib import suppress

SPACING_SECONDS = 0.05  # between two callers of a process that waited for the same pause
UNTOLD_SECONDS = 1.0  # where the provider does not say how long
MOST_SECONDS = 60.0  # who must wait longer is told so by the provider's own refusal: nobody is kept waiting for it
JITTER = 0.1

Hear = Callable[[str, float], None]
"""Told a key and for how many seconds it is paused."""


def rate_key(*parts: str) -> str:
    """A key for an account, such as base URL and API key; 16 hexadecimal digits that give neither away."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def retry_after(header: str | None, *, now: float) -> float:
    """Seconds that a ``Retry-After`` header asks for, a number or a date; one second where it says nothing readable.

    Args:
        header: as it came.
        now: seconds since the epoch.
    """
    seconds = UNTOLD_SECONDS
    with suppress(ValueError, TypeError, OverflowError):
        seconds = float(header or "")
    if header and not header.strip().replace(".", "", 1).isdigit():
        with suppress(ValueError, TypeError, IndexError):
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now
    return max(seconds, 0.0) if math.isfinite(seconds) else UNTOLD_SECONDS


class RateLimits:
    """The pauses of this process.

    Args:
        clock: seconds that only grow.
        chance: a number from 0 up to 1, for the jitter.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._open_at: dict[str, float] = {}
        self._next: dict[str, float] = {}
        self._hear: list[Hear] = []

    def report(self, key: str, seconds: float) -> None:
        """A provider refused for now: pause here, and tell those who tell the others."""
        if self.pause(key, seconds):
            for hear in tuple(self._hear):
                with suppress(Exception):
                    hear(key, seconds)

    def pause(self, key: str, seconds: float) -> bool:
        """Let nobody here ask for a while; False where that was so already, or where it would be for too long."""
        now = self._clock()
        opens = now + seconds * (1.0 + JITTER * self._chance())
        if not 0 < seconds <= MOST_SECONDS or now + seconds <= self._open_at.get(key, 0.0):
            return False
        for other in [other for other, at in self._open_at.items() if at <= now]:
            del self._open_at[other]
            self._next.pop(other, None)
        self._open_at[key] = opens
        return True

    def left(self, key: str) -> float:
        """Seconds for which a key is paused."""
        return max(0.0, self._open_at.get(key, 0.0) - self._clock())

    def paused(self) -> dict[str, float]:
        """The keys that are paused, with their seconds left."""
        return {key: left for key in tuple(self._open_at) if (left := self.left(key)) > 0}

    async def wait(self, key: str) -> float:
        """Wait until a key may be asked; the seconds that it took. The caller's own deadline bounds it."""
        if not self._open_at or not self.left(key):
            return 0.0
        began = self._clock()
        while self.left(key):
            turn = max(self._open_at[key], self._next.get(key, 0.0))
            self._next[key] = turn + SPACING_SECONDS
            await asyncio.sleep(max(0.0, turn - self._clock()))
        return self._clock() - began

    def tell(self, hear: Hear) -> Callable[[], None]:
        """Tell ``hear`` of every refusal that is reported here; gives what ends that."""
        self._hear.append(hear)

        def end() -> None:
            with suppress(ValueError):
                self._hear.remove(hear)

        return end


RATE_LIMITS = RateLimits()
"""Of this process."""
