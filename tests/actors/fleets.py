"""A fleet of real readers in this process, and the one call that asks a coordinator through it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from actors import coordinator, reader
from actors.coordinator import CoordinatorAnswer
from symfonic_ray.delegation import serving
from symfonic_ray.testing import FakeFleet


async def read(task: str) -> str:
    """Reads as the shipped reader does, in a thread as a host would."""
    answer = await asyncio.to_thread(reader.build("test").run, task)
    return answer.final_response


async def ask(folder: Path, question: str, *, child: Callable[[str], Awaitable[str]] = read) -> CoordinatorAnswer:
    """The coordinator's answer about ``folder``, its readers played by ``child``."""
    with serving(FakeFleet({"reader": child})):
        return await coordinator.build("test").run(json.dumps({"question": question, "input": str(folder)}))


def assert_quotes_stand_in_their_files(answer: CoordinatorAnswer, folder: Path) -> None:
    """Every quote is an exact part of the line that it names."""
    for quote in answer.quotes:
        lines = (folder / quote.file).read_bytes().decode("utf-8").split("\n")
        assert quote.text
        assert quote.text in lines[quote.line - 1], quote
        assert len(quote.text) <= 400
