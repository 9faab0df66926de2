"""The tree as plain lines, one for each event, for a log or a pipe. Decides only the words."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from symfonic_ray.delegation import DelegationRecord, HandOffEvent
from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.tree import HandOffTree


class PlainTree:
    """Writes a line when a hand-off starts and when it ends, indented by depth."""

    def __init__(self, stream: TextIO, *, scope: str, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            stream: where the lines go; flushed after each.
            scope: the tenant, as the user named it.
            clock: monotonic seconds.
        """
        self._stream, self._scope, self._clock = stream, harmless(scope), clock
        self._began_at = clock()
        self._tree = HandOffTree()

    def __enter__(self) -> PlainTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.say(self._tree.counts())

    @property
    def records(self) -> tuple[DelegationRecord, ...]:
        """Of every hand-off that has ended."""
        return self._tree.records

    def on_event(self, event: HandOffEvent) -> None:
        """Write the line of one event."""
        now = self._clock()
        node = self._tree.note(event, now=now)
        line = f"{'  ' * node.depth}{node.title}  depth {node.depth}  scope {self._scope}  {node.outcome()}"
        if node.record is not None:
            line += f"  {node.seconds(now):.2f} s"
        self.say(f"{line}  {why}" if (why := node.why()) else line)

    def say(self, words: str) -> None:
        """Write ``words`` with the seconds since the command began."""
        print(f"[{self._clock() - self._began_at:6.1f} s] {harmless(words)}", file=self._stream, flush=True)
