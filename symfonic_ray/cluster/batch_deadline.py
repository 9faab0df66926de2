"""When the runs of one batch must stop. One entry of the timer for the whole batch: nearly all end well before.

Knows no wire and no reply: it asks the child to stop a run, and a run that has ended is not stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from symfonic_ray.cluster.deadline_timer import DeadlineTimer, TimerEntry
from symfonic_ray.cluster.envelope import HandOffRow
from symfonic_ray.cluster.hosted_child import HostedChild

WORDS = "its time ran out"  # the caller knows how much it gave


class BatchDeadline:
    """The deadlines of the runs that arrived together, from now on.

    Args:
        timer: of the host.
        child: whose runs they are.
        rows: the runs, each with its seconds left, or None for as long as it likes.
    """

    __slots__ = ("_child", "_due", "_entry", "_timer")

    def __init__(self, timer: DeadlineTimer, child: HostedChild, rows: Sequence[HandOffRow]) -> None:
        now = timer.now()
        self._timer = timer
        self._child = child
        self._due = [(now + row.seconds_left, row.call_id) for row in rows if row.seconds_left is not None]
        self._entry: TimerEntry | None = None
        self._arm()

    def _arm(self) -> None:
        self._entry = self._timer.add(min(self._due)[0], self._ring) if self._due else None

    def _ring(self) -> None:
        now = self._timer.now()
        late = [call_id for expires_at, call_id in self._due if expires_at <= now]
        self._due = [entry for entry in self._due if entry[0] > now]
        self._arm()
        for call_id in late:
            self._child.stop(call_id, "timeout", WORDS)

    def drop(self) -> None:
        """Let none of them be stopped any more."""
        self._timer.drop(self._entry)
        self._entry = None
