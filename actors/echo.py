"""A child that answers its task, at once or after a pause: for tests and benchmarks. Reads nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EchoAnswer:
    """What an echo says."""

    final_response: str
    """The task, or the ``text`` that a JSON task asked for."""


class Echo:
    """Answers every task with the task; ``{"sleep": seconds, "text": ...}`` pauses first and answers ``text``."""

    async def run(
        self,
        query: str,
        *,
        scope: object = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> EchoAnswer:
        """Answer ``query``, which is text that may be a JSON object."""
        wish = _wish(query)
        await asyncio.sleep(wish.get("sleep", 0))
        return EchoAnswer(final_response=str(wish.get("text", query)))


def build(scope: object) -> Echo:
    """An echo; the same for every scope."""
    return Echo()


def _wish(query: str) -> dict[str, Any]:  # Any: values of a JSON object that a test wrote
    if not query.startswith("{"):
        return {}
    try:
        wish = json.loads(query)
    except ValueError:
        return {}
    return wish if isinstance(wish, dict) else {}
