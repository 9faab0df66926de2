"""Which hand-offs there are, under which, and which of them to show. Draws nothing; the clock is passed in.

A hand-off made by this process is seen to start and to end; one made further down the tree is reported when it has
ended. A hand-off is drawn under the run that made it once that run has ended too: only then is its run id known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from symfonic_ray.delegation import DelegationRecord, HandOffEvent, HandOffStarted
from symfonic_ray.kernel.text import CUT_MARK, clipped, collapsed
from symfonic_ray.report.harmless import harmless

SHOWN_WHOLE = 24  # a tree of so many rows fits a terminal of common height
SHOWN_OF_EACH = 6  # failures, running and finished ones, where the tree does not fit
_NAME_BYTES = 64
_TASK_BYTES = 48
_SUBJECT = re.compile(r'\{"(?:file|title|label)": "((?:[^"\\]|\\.)*)')
_MESSAGE_BYTES = 200


@dataclass(slots=True)
class TreeNode:
    """One hand-off."""

    name: str
    """As asked, on one line, harmless on a terminal."""
    depth: int
    """Where the child runs; 1 for a hand-off of the root."""
    started_at: float
    """Seconds on the clock of the caller."""
    task: str = ""
    """What it is about, in a few words; empty where that is not known."""
    record: DelegationRecord | None = None
    """None while it runs."""

    @property
    def title(self) -> str:
        """The child, and what it was asked about."""
        return f"{self.name} ({self.task})" if self.task else self.name

    @property
    def failed(self) -> bool:
        """Whether it has ended without an answer."""
        return self.record is not None and not self.record.outcome.delivered

    def seconds(self, now: float) -> float:
        """How long it took, or has taken so far."""
        return now - self.started_at if self.record is None else self.record.seconds

    def outcome(self) -> str:
        """Such as ``running``, ``delivered`` or ``child_failed (timeout)``."""
        if self.record is None:
            return "running"
        reason = self.record.reason
        return f"{self.record.outcome} ({reason})" if reason else str(self.record.outcome)

    def why(self) -> str:
        """The words of a failure on one line; empty for any other hand-off."""
        if self.record is None or not self.failed:
            return ""
        return clipped(harmless(collapsed(self.record.message)), limit_bytes=_MESSAGE_BYTES)


class HandOffTree:
    """The hand-offs of one run of the command."""

    def __init__(self) -> None:
        self._nodes: list[TreeNode] = []  # in the order in which they became known
        self._running: dict[int, TreeNode] = {}
        self._ended: list[TreeNode] = []  # in the order in which they ended

    def note(self, event: HandOffEvent, *, now: float) -> TreeNode:
        """Take in one event; the node it is about."""
        if isinstance(event, HandOffStarted):
            node = TreeNode(
                name=_shown_name(event.name), depth=event.depth, started_at=now, task=shown_task(event.task)
            )
            self._nodes.append(node)
            self._running[event.key] = node
            return node
        known = None if event.key is None else self._running.pop(event.key, None)
        record = event.record
        if known is None:
            known = TreeNode(name=_shown_name(record.name), depth=record.depth, started_at=now - record.seconds)
            self._nodes.append(known)
        known.record = record
        self._ended.append(known)
        return known

    @property
    def records(self) -> tuple[DelegationRecord, ...]:
        """Of every hand-off that has ended, in that order."""
        return tuple(node.record for node in self._ended if node.record is not None)

    def counts(self) -> str:
        """Such as ``3 running, 12 delivered, 1 failed``."""
        failed = sum(node.failed for node in self._ended)
        return f"{len(self._running)} running, {len(self._ended) - failed} delivered, {failed} failed"

    def shown(self) -> tuple[tuple[TreeNode, ...], int]:
        """The nodes to draw, and how many are left out.

        All of them where they fit; else the latest failures, the oldest running ones and the last that delivered.
        """
        if len(self._nodes) <= SHOWN_WHOLE:
            return tuple(self._nodes), 0
        failed = [node for node in self._ended if node.failed][-SHOWN_OF_EACH:]
        running = list(self._running.values())[:SHOWN_OF_EACH]
        delivered = [node for node in self._ended if not node.failed][-SHOWN_OF_EACH:]
        chosen = {id(node) for node in (*failed, *running, *delivered)}
        return tuple(node for node in self._nodes if id(node) in chosen), len(self._nodes) - len(chosen)

    def parent_of(self, node: TreeNode, among: tuple[TreeNode, ...]) -> TreeNode | None:
        """The node of ``among`` whose run made ``node``; None for a hand-off of the root or of a run not shown."""
        if node.record is None or not node.record.parent_run_id:
            return None
        for other in among:
            if other is not node and other.record is not None and other.record.run_id == node.record.parent_run_id:
                return other
        return None


def shown_task(task: str) -> str:
    """The subject of a task that names one, as a reader's task names its file; else the task's first words."""
    named = _SUBJECT.match(task)
    words = clipped(harmless(collapsed(named[1] if named else task)), limit_bytes=_TASK_BYTES)
    return words.removesuffix(CUT_MARK) + "..." if words.endswith(CUT_MARK) else words


def _shown_name(name: object) -> str:
    return clipped(harmless(collapsed(name if isinstance(name, str) else repr(name))), limit_bytes=_NAME_BYTES)
