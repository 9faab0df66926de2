"""A set of item numbers that costs bits, not objects. Knows no item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet

CHUNK_BYTES = 512  # 4,096 numbers: a million in a row take 170 KB, a lone one 0.7 KB


class IndexSet(MutableSet[int]):
    """Whole numbers from 0 on, iterated in ascending order."""

    __slots__ = ("_chunks", "_count")

    def __init__(self, indexes: Iterable[int] = ()) -> None:
        self._chunks: dict[int, bytearray] = {}
        self._count = 0
        for index in indexes:
            self.add(index)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int) or index < 0:
            return False
        chunk = self._chunks.get(index >> 12)
        return chunk is not None and bool(chunk[index >> 3 & 511] >> (index & 7) & 1)

    def __iter__(self) -> Iterator[int]:
        for number in sorted(self._chunks):
            for at, byte in enumerate(self._chunks[number]):
                for bit in range(8) if byte else ():
                    if byte >> bit & 1:
                        yield number << 12 | at << 3 | bit

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<IndexSet of {self._count}>"

    def add(self, index: int) -> None:
        """Put a number in.

        Raises:
            ValueError: if it is below 0.
        """
        if index < 0:
            raise ValueError(f"index is {index}; give a whole number, 0 or more")
        if index not in self:
            chunk = self._chunks.setdefault(index >> 12, bytearray(CHUNK_BYTES))
            chunk[index >> 3 & 511] |= 1 << (index & 7)
            self._count += 1

    def discard(self, index: int) -> None:
        """Take a number out, if it is there."""
        if index in self:
            chunk = self._chunks[index >> 12]
            chunk[index >> 3 & 511] &= ~(1 << (index & 7))
            self._count -= 1
            if not any(chunk):
                del self._chunks[index >> 12]

    def copy(self) -> IndexSet:
        """The same numbers, apart from this set."""
        other = IndexSet()
        other._chunks = {number: chunk[:] for number, chunk in self._chunks.items()}
        other._count = self._count
        return other
