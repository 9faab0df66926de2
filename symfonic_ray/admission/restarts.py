"""Whether a child that died may be built again. A pure policy: the clock is passed in, nothing is started here."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartIntensity:
    """At most ``most`` restarts within ``within_seconds``."""

    most: int = 3
    within_seconds: float = 30.0


class RestartHistory:
    """Deaths of one child of one scope."""

    def __init__(self, intensity: RestartIntensity) -> None:
        self._intensity = intensity
        self._deaths: deque[float] = deque(maxlen=intensity.most)

    def died(self, *, now: float) -> None:
        """Note a death at ``now``, seconds on a monotonic clock."""
        self._deaths.append(now)

    def is_quiet(self, *, now: float) -> bool:
        """Whether no death counts any more, so that the history may be forgotten."""
        return not any(now - at <= self._intensity.within_seconds for at in self._deaths)

    def admits(self, *, now: float) -> bool:
        """Whether another start keeps within the intensity."""
        recent = [at for at in self._deaths if now - at <= self._intensity.within_seconds]
        return len(recent) < self._intensity.most
