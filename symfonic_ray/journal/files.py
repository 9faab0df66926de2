"""The files of one journal: their names, and whether they may be used. Knows nothing of what is inside.

Beside ``FILE`` stand ``FILE-wal`` (sqlite's log), ``FILE-lock`` while it is open, and for moments ``FILE-shm`` and
``FILE-new``. None may be a link, and all are readable by their owner alone.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from symfonic_ray.journal.errors import JournalPathError

OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class JournalFiles:
    """The names that belong to the journal at ``path``, an absolute path."""

    path: str

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> JournalFiles:
        """The files of the journal that ``path`` names; nothing is looked at yet.

        Raises:
            JournalPathError: if it is no path at all.
        """
        text = os.fspath(path)
        if not isinstance(text, str) or not text or "\0" in text:
            raise JournalPathError(repr(text)[:200], "that is no path of a file", "give the path of a file")
        return cls(os.path.abspath(text))

    @property
    def folder(self) -> str:
        """Where they stand."""
        return os.path.dirname(self.path)

    @property
    def wal(self) -> str:
        """sqlite's write-ahead log: what is not yet in the file itself."""
        return self.path + "-wal"

    @property
    def shm(self) -> str:
        """sqlite's index of that log while it is read."""
        return self.path + "-shm"

    @property
    def lock(self) -> str:
        """Held while the journal is open; says by whom."""
        return self.path + "-lock"

    @property
    def new(self) -> str:
        """A journal in the making: it gets its name once it is whole."""
        return self.path + "-new"

    def check(self) -> None:
        """Look whether a journal may stand there.

        Raises:
            JournalPathError: if the folder does not exist, or a name is taken by a link, a folder or a device.
        """
        if not os.path.isdir(self.folder):
            raise JournalPathError(
                self.path, f"its folder {self.folder!r} does not exist or is none", "create the folder first"
            )
        for name in (self.path, self.wal, self.shm, self.lock, self.new, self.new + "-wal"):
            try:
                mode = os.lstat(name).st_mode
            except FileNotFoundError:
                continue
            if not stat.S_ISREG(mode):
                kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device or pipe"
                raise JournalPathError(self.path, f"{name!r} is {kind}", "give the path of a plain file")

    def keep_private(self) -> None:
        """Take from everybody but the owner what rights they have to the journal's files."""
        for name in (self.path, self.wal):
            with suppress(FileNotFoundError):
                descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    if stat.S_IMODE(os.fstat(descriptor).st_mode) != OWNER_ONLY:
                        os.fchmod(descriptor, OWNER_ONLY)
                finally:
                    os.close(descriptor)

    def sync_folder(self) -> None:
        """Put the folder's entries on disk, so that a new name outlives a power cut."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def create_private(path: str) -> int:
    """Create a file that must not exist, mode 0600 whatever the umask; its descriptor, open to read and write."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
    os.fchmod(descriptor, OWNER_ONLY)
    return descriptor


def remove(*paths: str) -> None:
    """Remove files, where they are there."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)


def size_of(path: str) -> int | None:
    """Bytes of a file; None where there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None
