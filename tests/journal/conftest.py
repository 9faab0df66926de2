"""Journals of a few rows, and copies of their files as a kill would leave them."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.journal import JobIdentity, JournalState, RunJournal, StoredResult
from symfonic_ray.journal.ledger import Ledger

JOB = JobIdentity("papers", "reader", "5f2a", 1000)


def answer(number: int, *, size: int = 40) -> dict[str, Any]:
    """The record of a delivered item; its text tells items apart."""
    return {"outcome": "delivered", "message": f"{number}:" + "x" * size, "usage": {"tokens": number}}


def failure(reason: str = "timeout") -> dict[str, Any]:
    return {"outcome": "child_failed", "reason": reason, "message": "no answer"}


async def deliver(journal: RunJournal, *indexes: int, size: int = 40) -> None:
    """Start and end items one after the other, each in commits of its own."""
    for index in indexes:
        await journal.started(index, f"digest {index}", f"call {index}")
        await journal.ended(index, answer(index, size=size))


async def contents(path: Path) -> tuple[JournalState, list[StoredResult]]:
    """What a new opening finds."""
    async with RunJournal.open(path, job=JOB) as journal:
        return journal.state(), [row async for row in journal.rows()]


def copy_files(source: Path, target: Path) -> Path:
    """Copy a journal and its log as they are on disk at this moment, which is what a kill leaves."""
    target.parent.mkdir(exist_ok=True)
    for suffix in ("", "-wal"):
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
    return target


def put_file(path: Path | str, content: bytes = b"") -> None:
    """Make a file, or make one over."""
    Path(path).write_bytes(content)


def bytes_of(path: Path | str) -> bytes:
    return Path(path).read_bytes()


@asynccontextmanager
async def slow_disk(journal: RunJournal) -> AsyncIterator[None]:
    """Keep the writer's thread busy for a block, as a disk would that takes long to sync."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(_: Ledger) -> None:
        begun.set()
        go_on.wait(10)

    held = journal._writer.ask(hold)
    await asyncio.to_thread(begun.wait, 10)
    try:
        yield
    finally:
        go_on.set()
        await held


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a journal may be made."""
    return tmp_path / "run.journal"


def killed_journal(folder: Path, script: Callable[[RunJournal], Awaitable[None]]) -> Path:
    """The files of a journal in which ``script`` was done and which was then cut off, not closed."""

    async def write() -> Path:
        async with RunJournal.open(folder / "live.journal", job=JOB) as journal:
            await script(journal)
            return copy_files(folder / "live.journal", folder / "killed" / "run.journal")

    return asyncio.run(write())
