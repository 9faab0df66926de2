"""What the command tells the shell. Knows no run: the commands choose."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    DELIVERED = 0
    FAILED = 1
    USAGE = 2
    """The request or the fleet file is wrong; nothing was started."""
    REFUSED = 3
    UNREACHABLE = 4
    """No cluster."""
    PARTIAL = 5
    """An answer, but not every hand-off delivered; only with ``--strict``."""
    DEADLINE = 124
    CANCELLED = 130
