"""Which file may be opened: a regular one inside the root. Knows no text, no question."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from actors.errors import AssignmentError

_NO_SURPRISES = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # NONBLOCK: opening a fifo must not wait


def open_inside(root: str, path: str) -> BinaryIO:
    """Open a file for reading, if it is a regular file that lies inside ``root`` once every link is followed.

    Args:
        root: absolute path of a folder.
        path: absolute path of the file.
    Raises:
        AssignmentError: outside ``root``, a link that leaves it, a folder, a device, a fifo or a socket.
        OSError: gone, or not permitted.
    """
    real_root, real_path = os.path.realpath(root), os.path.realpath(path)
    if not is_inside(real_root, real_path):
        named_inside = is_inside(os.path.normpath(root), os.path.normpath(path))
        raise AssignmentError(
            "a link that leaves the input folder" if named_inside else "a file outside the input folder"
        )
    descriptor = os.open(real_path, _NO_SURPRISES)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise AssignmentError("not a regular file")
    return os.fdopen(descriptor, "rb")


def is_inside(root: str, path: str) -> bool:
    """Whether the normal absolute ``path`` is ``root`` or lies below it; compares names only."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
