"""Tools for the tests of tool tasks; what they did can be read from files, since they run in other processes."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symfonic_ray.cluster import RayToolDispatcher
from symfonic_ray.execution import ToolCall, ToolExecutor, tool


def note(path: str, line: str) -> None:
    """One line, whole, whichever process writes it."""
    with Path(path).open("a", encoding="utf-8") as notes:
        notes.write(line + "\n")


def lines(path: Path) -> list[str]:
    """The lines that were noted."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def process() -> int:
    """The process that runs this."""
    return os.getpid()


async def process_shared() -> int:
    """The process that runs this, as an async tool."""
    await asyncio.sleep(0.05)
    return os.getpid()


def die(path: str) -> None:
    """Leave a line and end the process."""
    note(path, "died")
    os._exit(1)


@tool(idempotent=True)
def die_idempotent(path: str) -> None:
    """The same, declared safe to repeat."""
    die(path)


def die_once(path: str) -> str:
    """End the process at the first call, answer at the second."""
    if not Path(path).exists():
        die(path)
    return "came good"


async def die_shared(path: str, after: float) -> None:
    """Wait, leave a line and end the process, as an async tool."""
    await asyncio.sleep(after)
    die(path)


async def echo_shared(value: Any, wait: float = 0.0) -> Any:
    """Answer with ``value`` after ``wait`` seconds."""
    await asyncio.sleep(wait)
    return value


def echo_slow(value: Any, wait: float) -> Any:
    """The same, blocking."""
    time.sleep(wait)
    return value


@tool(idempotent=True)
def in_chunk(path: str, value: int, dies: bool = False) -> tuple[int, int]:
    """Note the value and tell it with the process; or end the process."""
    note(path, f"{value} {os.getpid()}")
    if dies:
        os._exit(1)
    return value, os.getpid()


async def note_shared(path: str, value: int, dies: bool = False) -> int:
    """Note the value and tell it; or end the process."""
    note(path, str(value))
    if dies:
        os._exit(1)
    return value


async def span_shared(path: str) -> tuple[float, float]:
    """When this ran, on the clock that all processes share."""
    note(path, "started")
    began = time.monotonic()
    await asyncio.sleep(0.005)
    note(path, "ended")
    return began, time.monotonic()


def span(path: str) -> tuple[float, float]:
    """The same, blocking."""
    note(path, "started")
    began = time.monotonic()
    time.sleep(0.005)
    note(path, "ended")
    return began, time.monotonic()


async def nothing_shared(value: int) -> int:
    """As little as there can be."""
    return value


@tool(timeout_seconds=0.3)
def stuck(path: str) -> None:
    """Note the process and block for long."""
    note(path, str(os.getpid()))
    time.sleep(60)


@tool(timeout_seconds=0.3)
async def stuck_shared(path: str) -> None:
    """Note the process and block the event loop for long."""
    note(path, str(os.getpid()))
    time.sleep(60)  # noqa: ASYNC251 - the fault that the test is about


def block(path: str) -> None:
    """Note the process and block for long, without a limit."""
    note(path, str(os.getpid()))
    time.sleep(60)


async def tidy(path: str) -> None:
    """Wait for long, and clean up when told to stop."""
    note(path, "started")
    try:
        await asyncio.sleep(60)
    finally:
        note(path, "cleaned up")


async def answered_progress(path: str) -> AsyncIterator[str]:
    """Yield, and go on only when somebody has left a file because of it."""
    yield "is anybody there"
    yield "waiting"  # the newest value is held back, since it may be the result
    for _ in range(2000):
        if Path(path).exists():  # noqa: ASYNC240 - another process writes it
            yield "somebody answered"
            return
        await asyncio.sleep(0.01)
    yield "nobody answered"


async def counting(path: str, count: int) -> AsyncIterator[int]:
    """Yield numbers and note each; ends early when it is told to stop."""
    for number in range(count):
        note(path, str(number))
        yield number


def counting_blocking(path: str, count: int) -> Iterator[int]:
    """The same, from a thread."""
    for number in range(count):
        note(path, str(number))
        yield number


def unpicklable_result() -> Any:
    """A lock in a list: text can be made of it, bytes cannot."""
    return [threading.Lock()]


def large(kind: str, count: int) -> Any:
    """So many bytes or characters."""
    return {"bytes": b"x" * count, "text": "ä" * (count // 2)}[kind]


def total(items: Any) -> Any:
    """The sum of what may be nested in lists and dicts."""
    if isinstance(items, dict):
        return sum(map(total, items.values()))
    if isinstance(items, list | tuple):
        return sum(map(total, items))
    return float(np.sum(items))


@dataclass
class Holder:
    """Something that a reference can hide in."""

    inside: Any


class Counter:
    """A tool with a state of its own."""

    name = "counter"

    def __init__(self) -> None:
        self.count = 0

    def invoke(self, args: dict[str, Any]) -> int:
        """How often this object was called."""
        self.count += 1
        return self.count


PICKLED: list[str] = []


class Recorder:
    """A tool that notes, in the process that holds it, how often it is pickled."""

    name = "recorder"

    def __init__(self, padding: str = "") -> None:
        self.padding = padding

    def __reduce__(self) -> tuple[Any, ...]:
        PICKLED.append(self.name)
        return Recorder, (self.padding,)

    def invoke(self, args: dict[str, Any]) -> int:
        """The size of what it holds."""
        return len(self.padding)


class ToolUser:
    """A child that runs a batch of tool tasks of its own, and tells what came of it."""

    def __init__(self) -> None:
        self.executor = ToolExecutor(dispatcher=RayToolDispatcher())

    async def run(self, query: str, **_: Any) -> str:
        """Run ``process``, ``die`` and ``process_shared`` with the task as path for notes; the outcomes as JSON."""
        calls = [ToolCall("a", "process"), ToolCall("b", "die", {"path": query}), ToolCall("c", "process_shared")]
        report = await self.executor.execute(calls, [process, die, process_shared])
        return json.dumps([os.getpid(), *[outcome.value or outcome.reason for outcome in report.outcomes]])


def tool_user(scope: Any) -> ToolUser:
    """The child for any scope."""
    return ToolUser()


@tool
async def write_shared(path: str) -> None:
    """Append a line each 0.1 s for a minute."""
    for _ in range(600):
        await asyncio.sleep(0.1)
        note(path, "line")


class ToolWriter:
    """A child that waits for one tool task, which writes to the file that its task names."""

    def __init__(self) -> None:
        self.executor = ToolExecutor(dispatcher=RayToolDispatcher())

    async def run(self, query: str, **_: Any) -> str:
        """What came of the tool."""
        report = await self.executor.execute([ToolCall("a", "write_shared", {"path": query})], [write_shared])
        return str(report.outcomes[0].reason)


def tool_writer(scope: Any) -> ToolWriter:
    """The child for any scope."""
    return ToolWriter()
