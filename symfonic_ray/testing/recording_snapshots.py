"""Snapshot slots that can be counted. Decides nothing."""

from __future__ import annotations


class RecordingSnapshots:
    """A ``RunSnapshots`` whose tokens are 1, 2, 3 and so on."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.closed: list[int] = []

    @property
    def held(self) -> tuple[int, ...]:
        """The tokens that were opened and not closed yet."""
        return tuple(token for token in self.opened if token not in self.closed)

    def open(self) -> int:
        """Take the next slot."""
        self.opened.append(len(self.opened) + 1)
        return self.opened[-1]

    def close(self, token: int) -> None:
        """Give a slot back."""
        self.closed.append(token)
