"""What a stop came to, as values: at one host, and over a whole tree. Stops nothing itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedAtHost:
    """What became of one tree's runs at one host."""

    stopped: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    """Those that did not end within their grace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReceipt:
    """What became of a tree: run ids, each in one of the three."""

    root_run_id: str
    stopped: tuple[str, ...] = ()
    """Ended when they were asked to."""
    killed: tuple[str, ...] = ()
    """Did not end within their grace; their processes were killed."""
    finished: tuple[str, ...] = ()
    """Had ended by themselves; of a tree with very many runs only the last ones."""
    spent_after: int = 0
    """Hand-offs that still came to a host after the stop was asked for, each among the stopped or the killed; and
    runs in this process that ignored it, which nobody may kill and which are among none."""
