"""The run that this host is serving, for the hand-offs that the run makes itself. Knows no wire and no child."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.cluster.turns import Turn
from symfonic_ray.delegation.fleet import HandOffEnded, HandOffStarted
from symfonic_ray.kernel import Ambient
from symfonic_ray.kernel.text import clipped

NESTED_RECORDS = 256  # most records of a subtree that travel up with a reply; the default tree limit
NESTED_MESSAGE_BYTES = 512  # a record below is a report, not the answer itself


@dataclass(slots=True)
class HostedRun:
    """One run in flight inside a host."""

    run_id: str
    root_run_id: str
    depth: int
    ancestors: tuple[str, ...]
    """Run ids above this one, root first."""
    turn: Turn
    gives_back: bool
    """Whether the run gives its turn back while it waits for a child."""
    stopped_trees: Container[str] = ()
    """Roots whose trees are being stopped everywhere at once, so that no run need stop its own children."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """Records of its own hand-offs and of those below them, at most ``NESTED_RECORDS``."""

    @property
    def lineage(self) -> tuple[str, ...]:
        """The ancestors of a child of this run."""
        return (*self.ancestors, self.run_id)

    def note(self, event: HandOffStarted | HandOffEnded) -> None:
        """Keep the record of a hand-off that ended below this run."""
        if isinstance(event, HandOffEnded):
            plain = event.record.as_dict()
            self.keep(plain)

    def keep(self, record: dict[str, Any]) -> None:
        """Keep one record, its message shortened; past the bound it is dropped."""
        if len(self.records) < NESTED_RECORDS:
            message = str(record["message"]).encode("utf-8", "replace").decode()  # a report needs no lone surrogates
            self.records.append(record | {"message": clipped(message, limit_bytes=NESTED_MESSAGE_BYTES)})


HOSTED_RUN: Ambient[HostedRun] = Ambient("symfonic_ray_hosted_run")
