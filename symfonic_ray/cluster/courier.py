"""Carries hand-offs from one caller to one host. Knows no deadline and no cancellation: who waits decides those.

The transport is a plain actor call for each hand-off; replies are matched to it by call id.
"""

from __future__ import annotations

import itertools
from typing import Any

from symfonic_ray.cluster.envelope import Address, EnvelopeError, HandOffRow, ReplyRow, open_replies, seal_batch
from symfonic_ray.kernel import new_run_id

_CALLER = new_run_id()[:16]  # call ids of two processes never meet
_NUMBERS = itertools.count(1)


def new_call_id() -> str:
    """An id that no other call has, of this process or another."""
    return f"{_CALLER}-{next(_NUMBERS):x}"


class Courier:
    """The way from this process to one child of one host."""

    __slots__ = ("_address", "_handle", "_key")

    def __init__(self, handle: Any, address: Address, *, key: bytes) -> None:
        self._handle = handle
        self._address = address
        self._key = key

    async def carry(self, row: HandOffRow) -> ReplyRow:
        """The reply to one row.

        Raises:
            EnvelopeError: for a reply that is malformed or not for this row.
            ray.exceptions.RayError: whatever Ray says of the call.
        """
        batch = seal_batch(self._address, [row], key=self._key)
        (reply,) = open_replies(await self._handle.run.remote(batch), address=self._address)
        if reply.call_id != row.call_id:
            raise EnvelopeError("scope_mismatch", "the reply is for another call")
        return reply
