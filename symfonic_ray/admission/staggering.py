"""Who may ask a provider again when, after it refused. A pure choice: tells nobody, knows no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

HostT = TypeVar("HostT")

APART_SECONDS = 0.1  # between two hosts


def staggered(hosts: Mapping[str, Sequence[HostT]], seconds: float) -> list[tuple[HostT, float]]:
    """How long each host waits: one after the other, the scopes in turns, so that none goes behind all of another.

    Args:
        hosts: of each scope.
        seconds: how long the provider wants to be left alone.
    """
    turns = [host for turn in zip_longest(*hosts.values(), fillvalue=None) for host in turn if host is not None]
    return [(host, seconds + rank * APART_SECONDS) for rank, host in enumerate(turns)]
