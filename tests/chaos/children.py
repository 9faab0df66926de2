"""Children whose behaviour the measurements need. Each leaves a line in a file for what it has done."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any


def _note(path: str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{line}\n")


class Worker:
    """``FILE ID SECONDS``: notes its id, then works for so long. Its process is noted where its scope names a file."""

    def __init__(self, scope: Any) -> None:
        if isinstance(scope, dict):
            _note(scope["pids"], str(os.getpid()))

    async def run(self, query: str) -> str:
        path, number, seconds = query.split()
        _note(path, number)
        await asyncio.sleep(float(seconds))
        return number


class Poisoned:
    """``die FILE`` ends its process with SIGKILL, after a note of its id; anything else is answered."""

    async def run(self, query: str) -> str:
        if query.startswith("die "):
            _note(query.removeprefix("die "), str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return query


class Tenant:
    """Answers with what it knows: its scope's own secret, and the words of its scope that it was ever asked."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        self.heard: set[str] = set()

    async def run(self, query: str) -> str:
        self.heard.add(query.split()[0])
        return f"canary-{self.scope} {sorted(self.heard)}"


class Large:
    """Answers with as many bytes as it is asked for."""

    async def run(self, query: str) -> str:
        return "x" * int(query)


class HungFlush:
    """Answers with its process; its clean-up never ends."""

    async def run(self, query: str) -> str:
        return str(os.getpid())

    async def flush_background_tasks(self) -> None:
        await asyncio.sleep(3600)


def worker(scope: Any) -> Worker:
    return Worker(scope)


def poisoned(scope: Any) -> Poisoned:
    return Poisoned()


def tenant(scope: Any) -> Tenant:
    return Tenant(scope)


def large(scope: Any) -> Large:
    return Large()


def hung_flush(scope: Any) -> HungFlush:
    return HungFlush()


def sleeper_nowhere(scope: Any) -> Worker:
    """For a placement that no machine has."""
    return Worker(scope)


def slow_build(scope: Any) -> Worker:
    """Takes longer than any build may."""
    time.sleep(60)
    return Worker(scope)


for _index in range(8):  # eight children that do the same, each in its own process
    globals()[f"worker{_index}"] = worker
    globals()[f"tenant{_index}"] = tenant
