"""How often which fault happens. Values, and one source of chance for all of a run; plants nothing itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Rates: of messages, from 0 to 1; of steps, as weights beside 100 for ordinary work."""

    lost: float = 0.004
    """Of messages that never arrive, question or answer."""
    late: float = 0.02
    """Of messages that take seconds."""
    twice: float = 0.004
    """Of batches that arrive twice, and of fetched replies that are given again to the next fetch."""
    build_fails: float = 0.04
    """Of builds that raise."""
    build_hangs: float = 0.02
    """Of builds that never end."""
    crashes: float = 5.0
    hangs: float = 3.0
    nodes_lost: float = 1.0
    clock_jumps: float = 2.0
    controller_lost: float = 0.1

    @classmethod
    def none(cls) -> Faults:
        """Nothing ever goes wrong."""
        return cls(
            lost=0.0,
            late=0.0,
            twice=0.0,
            build_fails=0.0,
            build_hangs=0.0,
            crashes=0.0,
            hangs=0.0,
            nodes_lost=0.0,
            clock_jumps=0.0,
            controller_lost=0.0,
        )
