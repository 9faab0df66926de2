"""Whether a process is still the one it was. Reads /proc; where there is none, it cannot tell."""

from __future__ import annotations

from pathlib import Path


def process_mark(pid: int) -> str:
    """When process ``pid`` started, in the kernel's ticks; empty where there is no such process, or no way to ask."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    after_name = stat.rpartition(")")[2].split()  # a name may hold spaces and brackets
    return "" if after_name[0] in ("Z", "X") else after_name[19]
