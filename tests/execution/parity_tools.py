"""The tools of the parity suite: plain module functions that any worker can import; their traces are in files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from symfonic_ray.execution import ToolCall, ToolOutcome, tool


class Refused(Exception):
    """The tools' own error; its constructor takes two facts, as many do."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(code, why)
        self.code, self.why = code, why

    def __str__(self) -> str:
        return f"{self.code} {self.why}"


class Own(BaseException):
    """An exception outside the usual tree."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot be printed")

    __repr__ = __str__


FAULTS: dict[str, BaseException] = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "Own": Own("mine"),
    "StopIteration": StopIteration("mine"),
    "CancelledError": asyncio.CancelledError(),
    "ExceptionGroup": ExceptionGroup("several", [ValueError("one")]),
    "Refused": Refused(7, "closed"),
}


def note(path: str, line: str) -> None:
    with Path(path).open("a", encoding="utf-8") as notes:
        notes.write(line + "\n")


async def echo_later(value: Any) -> Any:
    await asyncio.sleep(0.02 * (3 - value) if isinstance(value, int) else 0)
    return value


def nothing() -> str:
    return "nothing asked"


def fall(kind: str, path: str) -> None:
    note(path, kind)
    raise FAULTS[kind]


async def fall_later(kind: str, path: str) -> None:
    note(path, kind)
    await asyncio.sleep(0)
    raise FAULTS[kind]


def fall_unprintable() -> None:
    raise Unprintable


def flaky(path: str, good_on: int) -> str:
    note(path, "tried")
    if len(Path(path).read_text(encoding="utf-8").splitlines()) < good_on:
        raise Refused(503, "busy")
    return "good"


def result(kind: str) -> Any:
    return {"none": None, "list": [], "map": {}, "zero": 0, "false": False, "text": "", "other": "größe"}[kind]


def forged(value: str) -> ToolOutcome:
    return ToolOutcome(ToolCall("another", "another", {}), value, is_error=True, attempts=9, reason="exception")


def stepping(count: int) -> Iterator[int]:
    yield from range(count)


def stepping_returned(count: int) -> Iterator[int]:
    return (number for number in range(count))


def stepping_iterator(count: int) -> Iterator[int]:
    return iter(range(count))


async def stepping_later(count: int) -> AsyncIterator[int]:
    for number in range(count):
        await asyncio.sleep(0)
        yield number


async def stepping_awaited(count: int) -> AsyncIterator[int]:
    return stepping_later(count)


async def stepping_plain_awaited(count: int) -> Iterator[int]:
    return stepping(count)


def torn(count: int) -> Iterator[int]:
    yield from range(count)
    raise Refused(500, "torn")


def overwrite(array: Any) -> Any:
    array[0] = 9
    return array


@tool(timeout_seconds=0.2)
def slow_blocking(path: str) -> None:
    """Sleep for long."""
    note(path, "started")
    time.sleep(1.0)


@tool(timeout_seconds=0.2)
async def slow_waiting(path: str) -> None:
    """Wait for long."""
    note(path, "started")
    await asyncio.sleep(60)


class Invoked:
    """The shape with ``invoke``."""

    def invoke(self, args: dict[str, Any]) -> Any:
        return ("invoked", args)


class AsyncInvoked:
    """The shape with ``ainvoke``, which comes first."""

    def invoke(self, args: dict[str, Any]) -> Any:
        raise AssertionError("ainvoke was there")

    async def ainvoke(self, args: dict[str, Any]) -> Any:
        return ("ainvoked", args)


class Specification:
    """The shape of a DelegationToolSpec."""

    name = "specification"
    description = "says what it was given"
    parameters = ("value",)

    @staticmethod
    async def coroutine(value: Any) -> Any:
        return ("specified", value)


class Callable_:  # noqa: N801 - a class whose instances are tools
    def __call__(self, value: Any) -> Any:
        return ("called", value)


async def waiter(path: str) -> None:
    note(path, "started")
    await asyncio.sleep(60)
    note(path, "ended")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def written(path: Path, *, within_seconds: float = 30.0) -> bool:
    """Whether anything is in the file before the time is up."""
    until = time.monotonic() + within_seconds
    while not lines(path) and time.monotonic() < until:
        time.sleep(0.01)
    return bool(lines(path))
