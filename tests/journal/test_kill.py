"""``kill -9`` at any moment: what was acknowledged is there, what was started is known, nothing else is."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from symfonic_ray.journal import RunJournal
from tests.journal.killed_writer import JOB, message

ROOT = Path(__file__).resolve().parents[2]
KILLS = 6


def run_and_kill(path: Path, after_seconds: float) -> dict[str, set[int]]:
    """What a writer said it had done before it was killed."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.journal.killed_writer", str(path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    with writer, writer.stdout:
        try:
            assert writer.stdout.readline() == b"open 0\n"
            with suppress(subprocess.TimeoutExpired):
                writer.wait(after_seconds)
        finally:
            writer.kill()
        said: dict[str, set[int]] = defaultdict(set)
        for line in writer.stdout.read().split(b"\n"):
            if line:
                step, index = line.split()
                said[step.decode()].add(int(index))
    return said


def test_nothing_acknowledged_is_lost_and_nothing_delivered_runs_again_over_several_kills(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    chance = random.Random(5)
    asked, started, ended = set[int](), set[int](), set[int]()
    for _ in range(KILLS):
        said = run_and_kill(path, chance.uniform(0.0, 0.04))
        assert said["asked"].isdisjoint(ended), "a delivered item ran again"
        asked |= said["asked"]
        started |= said["started"]
        ended |= said["ended"]
        asyncio.run(check(path, asked, started, ended))
    assert len(ended) > 20


async def check(path: Path, asked: set[int], started: set[int], ended: set[int]) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        state = journal.state()
        delivered, unknown = set(state.delivered), set(state.unknown)
        assert ended <= delivered
        assert started <= delivered | unknown <= asked
        rows = {row.index: row async for row in journal.rows()}
    assert rows.keys() == delivered
    assert all(row.record == message(index) and row.call_id == f"call {index}" for index, row in rows.items())
