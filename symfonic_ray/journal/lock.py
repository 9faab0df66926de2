"""One owner at a time. Decides who has a journal open; knows nothing of what is in it.

The lock is the kernel's (``flock`` on a side file), so it ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from symfonic_ray.journal.errors import JournalLockedError
from symfonic_ray.journal.files import OWNER_ONLY, JournalFiles


class JournalLock:
    """The right to open a journal, held until ``release``."""

    def __init__(self, files: JournalFiles) -> None:
        """Take the lock.

        Raises:
            JournalLockedError: if another process, or another owner in this one, holds it.
            OSError: if the side file cannot be written.
        """
        self._path = files.lock
        self._descriptor = _locked(files)
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Give the lock up and remove its file; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                if _same_file(descriptor, self._path):
                    os.unlink(self._path)
            os.close(descriptor)


def _locked(files: JournalFiles) -> int:
    while True:
        descriptor = os.open(files.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalLockedError(files.path, _pid(descriptor)) from None
            if _same_file(descriptor, files.lock):
                os.fchmod(descriptor, OWNER_ONLY)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed it between the open and the lock: take the new one


def _same_file(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _pid(descriptor: int) -> int | None:
    written = os.pread(descriptor, 20, 0)
    return int(written) if written.isdigit() else None
