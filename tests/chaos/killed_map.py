"""P6: ``symfonic-ray map`` killed with -9 at places drawn from a seed, and resumed until it is done. A program."""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path

from tests.cli.test_map_kill import Job

TASKS_A_KILL = 150


def main(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """What became of all tasks."""
    chance = random.Random(f"{seed} P6")
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(folder, tasks=TASKS_A_KILL * (kills + 1))
    delivered: set[int] = set()
    lost = killed = 0
    for _ in range(kills):
        place = job.count() + chance.randrange(1, TASKS_A_KILL)
        job.interrupt(signal.SIGKILL, at=place).communicate(timeout=60)
        killed += 1
        now = {line["index"] for line in job.lines() if line["outcome"] == "delivered"}
        lost += len(delivered - now)
        delivered |= now
    told = job.ended()
    lines = job.lines()
    final = {line["index"] for line in lines if line["outcome"] == "delivered"}
    effects = job.effects()
    return {
        "kills": killed,
        "tasks": told["total"],
        "results": len({line["index"] for line in lines}) if len(lines) == told["total"] else -len(lines),
        "lost": lost + len(delivered - final),
        "delivered_twice": sum(effects[f"t{index}"] > 1 for index in final),
        "unknown": sum(line["outcome"] == "unknown" for line in lines),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]) / "map", int(sys.argv[2]), int(sys.argv[3]))), flush=True)
