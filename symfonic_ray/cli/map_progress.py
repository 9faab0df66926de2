"""How far a bulk job is: a bar on a terminal, a line now and then anywhere else. Reads counts; changes nothing."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from symfonic_ray.cli.streams import say

BAR_SECONDS = 0.2
LINE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStand:
    """Counts at one moment."""

    done: int
    """Results, those of earlier runs included."""
    failed: int
    in_flight: int
    fresh: int
    """Results of this run: the rate is theirs."""
    total: int | None
    """Tasks in all; None while that is not known."""

    def words(self, seconds: float) -> str:
        """Such as ``1,234 of 20,000 done, 3 failed, 812/s, 23 s left, 64 in flight``.

        Args:
            seconds: since this run began.
        """
        rate = self.fresh / seconds if seconds > 0 else 0.0
        of_total = "" if self.total is None else f" of {self.total:,}"
        left = ""
        if self.total is not None and rate > 0:
            left = f", {_duration((self.total - self.done) / rate)} left"
        return f"{self.done:,}{of_total} done, {self.failed:,} failed, {rate:,.0f}/s{left}, {self.in_flight} in flight"


class MapProgress:
    """Tells how far a job is while its ``with`` block lasts.

    Args:
        stand: gives the counts of the moment.
        no_color: whether the bar has no colours.
        clock: monotonic seconds.
    """

    def __init__(
        self, stand: Callable[[], MapStand], *, no_color: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stand = stand
        self._clock = clock
        self._began_at = clock()
        self._bar: Progress | None = None
        if sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"):
            console = Console(stderr=True, no_color=True if no_color else None)
            self._bar = Progress(BarColumn(), TextColumn("{task.fields[words]}"), console=console, auto_refresh=False)
        self._row = TaskID(0)
        self._telling: asyncio.Task[None] | None = None

    def __enter__(self) -> MapProgress:
        if self._bar is not None:
            self._row = self._bar.add_task("", total=None, words="")
            self._bar.start()
        self._telling = asyncio.get_running_loop().create_task(self._tell())
        return self

    def __exit__(self, *_: object) -> None:
        if self._telling is not None:
            self._telling.cancel()
        self._draw()
        if self._bar is not None:
            self._bar.stop()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(LINE_SECONDS if self._bar is None else BAR_SECONDS)
            self._draw()

    def _draw(self) -> None:
        stand = self._stand()
        words = stand.words(self._clock() - self._began_at)
        if self._bar is None:
            say(words)
        else:
            self._bar.update(self._row, total=stand.total, completed=stand.done, words=words, refresh=True)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
