"""Run by test_kill.py and killed by it: works through all items with eight at a time, telling of each step done."""

from __future__ import annotations

import asyncio
import os
import sys

from symfonic_ray.journal import JobIdentity, RunJournal

JOB = JobIdentity("papers", "reader", "5f2a", 100_000)


def message(index: int) -> dict[str, str]:
    return {"outcome": "delivered", "message": f"{index} " * (index % 50)}


async def main(path: str) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        state = journal.state()
        seen = state.delivered | state.unknown
        left = iter([index for index in range(100_000) if index not in seen])
        tell("open", 0)

        async def work() -> None:
            for index in left:
                tell("asked", index)
                await journal.started(index, f"digest {index}", f"call {index}")
                tell("started", index)
                await journal.ended(index, message(index))
                tell("ended", index)

        await asyncio.gather(*(work() for _ in range(8)))


def tell(step: str, index: int) -> None:
    os.write(1, f"{step} {index}\n".encode())  # at once, and in one piece: a kill cuts between lines


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
