"""How many hosts one scope's child should have. Arithmetic only: starts and stops nothing, knows no clock."""

from __future__ import annotations


def desired_replicas(
    current: int,
    *,
    least: int,
    most: int,
    in_flight: int,
    waiting: int,
    concurrency: int,
    idle_seconds: float,
    idle_before_shrink: float = 30.0,
) -> int:
    """One step towards the number of hosts that the load asks for.

    Args:
        current: hosts alive or being built.
        least: fewest hosts, 1 or more.
        most: most hosts, ``least`` or more.
        in_flight: runs that hold a turn in any host.
        waiting: hand-offs that wait for a turn.
        concurrency: turns of one host.
        idle_seconds: how long the least used host has had no run.
        idle_before_shrink: seconds of idleness after which one host is too many.
    Returns:
        ``current``, or one more while more wait than there are free turns, or one less after idle time if the
        others have a turn for all that runs and waits; always within ``least`` and ``most``.
    """
    wanted = current
    if waiting > max(0, current * concurrency - in_flight):
        wanted = current + 1
    elif idle_seconds >= idle_before_shrink and in_flight + waiting <= (current - 1) * concurrency:
        wanted = current - 1
    return min(max(wanted, least), most)
