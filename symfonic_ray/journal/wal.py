"""Whether a write-ahead log is whole. Reads sqlite's log format (version 3007000); changes nothing.

sqlite drops everything after the first frame that it cannot trust, without a word. That is right for a torn end and
wrong for a damaged middle, so the log is read here first. Our logs are emptied at each checkpoint and never written
over, so each frame must carry the log's salts and a true checksum. Only the end may be amiss: a frame that is cut
short, or zeros that were reserved and never written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

from symfonic_ray.journal.errors import JournalDamagedError
from symfonic_ray.journal.files import JournalFiles

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_BIG_ENDIAN, _LITTLE_ENDIAN = 0x377F0683, 0x377F0682  # the order of bytes in the checksums
_WORD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class WalReading:
    """A log without damage."""

    commits: int
    """Transactions that are there in full."""
    whole_bytes: int
    """Where the last of them ends; what follows was never acknowledged."""


def read_wal(files: JournalFiles, *, page_bytes: int) -> WalReading:
    """Read a journal's log from end to end.

    Raises:
        JournalDamagedError: if a frame that was written is not as it was written; names its first byte.
        OSError: if the log cannot be read.
    """
    with open(files.wal, "rb") as log:
        header = log.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            return WalReading(commits=0, whole_bytes=0)
        magic, version, size, _, salt_1, salt_2, sum_1, sum_2 = struct.unpack(">8I", header)
        if not any(header) and _only_zeros(log):
            return WalReading(commits=0, whole_bytes=0)
        order = ">" if magic == _BIG_ENDIAN else "<"
        sums = _checksum(order, header[:24], (0, 0))
        if magic not in (_BIG_ENDIAN, _LITTLE_ENDIAN) or version != 3007000 or sums != (sum_1, sum_2):
            raise _damaged(files, 0, 0)
        if size != page_bytes:
            raise _damaged(files, 8, 0)
        commits, whole_bytes, at = 0, 0, HEADER_BYTES
        while True:
            frame = log.read(FRAME_HEADER_BYTES + page_bytes)
            if len(frame) < FRAME_HEADER_BYTES + page_bytes:
                return WalReading(commits=commits, whole_bytes=whole_bytes)
            _, pages_after, own_salt_1, own_salt_2, sum_1, sum_2 = struct.unpack_from(">6I", frame)
            sums = _checksum(order, frame[:8], sums)
            sums = _checksum(order, frame[FRAME_HEADER_BYTES:], sums)
            if (own_salt_1, own_salt_2) != (salt_1, salt_2) or sums != (sum_1, sum_2):
                if not any(frame) and _only_zeros(log):
                    return WalReading(commits=commits, whole_bytes=whole_bytes)
                raise _damaged(files, at, whole_bytes)
            at += len(frame)
            if pages_after:  # only the last frame of a transaction says how many pages the file has after it
                commits, whole_bytes = commits + 1, at


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one, other in zip(words, words, strict=True):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second


def _only_zeros(log: BinaryIO) -> bool:
    while block := log.read(1 << 20):
        if any(block):
            return False
    return True


def _damaged(files: JournalFiles, at: int, whole_bytes: int) -> JournalDamagedError:
    return JournalDamagedError(
        files.path,
        f"byte {at} of {files.wal!r}",
        "what stands there is not what was written",
        f"restore it, start a new journal, or cut that file to its first {whole_bytes} bytes, "
        "which are whole, and lose what followed",
    )
