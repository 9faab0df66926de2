"""What happens to children already built when a composition fails. Knows no declaration.

Composing is synchronous, with or without a running loop, so closing drives a private loop in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from symfonic_ray.delegation.lifecycle import ChildLifecycle
from symfonic_ray.kernel.text import failure_line

CLOSE_SECONDS = 5.0
_SPARE_SECONDS = 1.0  # for the loop to unwind after the last child ran out of its time


def close_built(built: Sequence[tuple[str, Any]], error: BaseException) -> None:
    """Close every child of ``built``, 5 s each; what fails becomes a note of ``error``."""
    if not built:
        return
    lifecycle = ChildLifecycle(
        [agent for _, agent in built], grace_seconds=CLOSE_SECONDS, names=[name for name, _ in built]
    )
    notes = [f"closing what was built did not end within {CLOSE_SECONDS + _SPARE_SECONDS:g} s"]

    def close() -> None:
        try:
            notes[:] = asyncio.run(lifecycle.aclose()).failures
        except BaseException as late:  # it must not end in the thread, unseen
            notes[:] = [f"closing what was built failed: {failure_line(late)}"]

    thread = threading.Thread(target=close, name="symfonic-ray-rollback", daemon=True)
    thread.start()
    thread.join(CLOSE_SECONDS + _SPARE_SECONDS)
    for note in tuple(notes):
        error.add_note(note)
