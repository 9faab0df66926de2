"""Keeps an exit raised in any task from stopping a host's event loop. Knows no run.

asyncio ends its loop when ``SystemExit`` or ``KeyboardInterrupt`` leaves a task, and a Ray actor whose loop has ended
answers no call any more. So every task of the work loop, also those an agent starts itself, turns them into errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class ChildExitError(RuntimeError):
    """A task of a child tried to end the process."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(kind, words)
        self.kind, self.words = kind, words

    def __str__(self) -> str:
        return f"the child tried to end its process with {self.kind}({self.words}); a hosted child returns or raises"


def contain_exits(loop: asyncio.AbstractEventLoop) -> None:
    """Install a task factory that turns exits into ``ChildExitError``."""

    def factory(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **options: Any
    ) -> asyncio.Task[Any]:
        contained = _contained(work) if asyncio.iscoroutine(work) else work
        return asyncio.Task(contained, loop=loop, **options)

    loop.set_task_factory(factory)


async def _contained(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise ChildExitError(type(error).__name__, ", ".join(map(repr, error.args))) from None
