"""What processes use, read from /proc: CPU seconds, resident and proportional memory. Linux only; changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _SYSTEM = 1, 11, 12  # places in /proc/PID/stat after the command's name


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of processes so far, in seconds, to a hundredth.

    Raises:
        OSError: if one of them is gone.
    """
    ticks = 0
    for pid in pids:
        fields = _stat(pid)
        ticks += int(fields[_USER]) + int(fields[_SYSTEM])
    return ticks / _TICKS


def parent_pid(pid: int) -> int:
    """The process that started another.

    Raises:
        OSError: if it is gone.
    """
    return int(_stat(pid)[_PARENT])


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def resident_bytes(pid: int) -> int:
    """Memory of a process that is in RAM, shared pages counted in full.

    Raises:
        OSError: if it is gone.
    """
    return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def proportional_bytes(pids: Iterable[int]) -> int:
    """Memory of processes that is in RAM; a page that n processes share counts as a n-th for each.

    Raises:
        OSError: if one of them is gone.
    """
    total = 0
    for pid in pids:
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def titled(title: str) -> set[int]:
    """Ids of the processes whose command line starts with ``title``."""
    found = set()
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(title.encode()):
                found.add(int(entry.name))
    return found
