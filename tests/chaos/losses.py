"""P1, P2, P4, P5, P6: processes that are killed under load."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from symfonic_ray.cluster import Placement
from symfonic_ray.delegation import DelegationRecord
from tests.chaos.stage import Measured, Stage, noted_pids, percentile, within

WORKERS = 8
KILL_EVERY_SECONDS = 0.2


class _Storm:
    """One run of P1 and P2: many hand-offs while a random child is killed again and again."""

    def __init__(self) -> None:
        self.records: list[DelegationRecord] = []
        self.effects: Counter[str] = Counter()
        self.kills = 0
        self.asked = 0
        self.seconds = 0.0


async def _storm(stage: Stage) -> _Storm:
    chance = stage.chance("storm")
    seen = _Storm()
    seen.asked = stage.size(1000, 160)
    names = [f"worker{number}" for number in range(stage.size(WORKERS, 3))]
    file = stage.folder / "effects"
    file.touch()
    async with stage.pool(*names, placements=dict.fromkeys(names, Placement(concurrency=4))) as pool:
        built = stage.folder / "pids"
        count = stage.size(4, 2)  # a quarantine holds for one scope
        scopes = [{"tenant": str(number), "pids": str(built)} for number in range(count)]

        async def killing() -> None:
            while True:
                await asyncio.sleep(KILL_EVERY_SECONDS)
                if alive := noted_pids(built):
                    with suppress(ProcessLookupError):
                        os.kill(chance.choice(alive), signal.SIGKILL)
                        seen.kills += 1

        async def one_scope(number: int, scope: dict[str, str]) -> None:
            async with pool.scope(scope) as fleet:
                tasks = (
                    (chance.choice(names), f"{file} {index} 0.1") for index in range(number, seen.asked, len(scopes))
                )
                async for record in fleet.fan_out(tasks, in_flight=16):
                    seen.records.append(record)

        for scope in scopes:
            async with pool.scope(scope):
                pass
        began = time.monotonic()
        killer = asyncio.create_task(killing())
        try:
            async with asyncio.timeout(120):
                await asyncio.gather(*(one_scope(number, scope) for number, scope in enumerate(scopes)))
        except TimeoutError:
            pass
        finally:
            killer.cancel()
        seen.seconds = time.monotonic() - began
    seen.effects.update(file.read_text().split())
    return seen


async def one_record(stage: Stage) -> Measured:
    """P1: every hand-off ends in exactly one record."""
    seen = await _storm(stage)
    ids = Counter(record.run_id for record in seen.records if record.run_id)
    doubled = sum(count - 1 for count in ids.values())
    missing = seen.asked - len(seen.records)
    outcomes = Counter(record.reason or "delivered" for record in seen.records)
    told = ", ".join(f"{count} {reason}" for reason, count in outcomes.most_common())
    counted = f"{len(seen.records)} records of {seen.asked}, {doubled} double"
    figure = f"{counted}, {seen.kills} kills in {seen.seconds:.0f} s: {told}"
    return Measured(figure, missing == 0 and doubled == 0 and seen.kills > 0)


async def at_most_once(stage: Stage) -> Measured:
    """P2: nothing that was started is repeated, and a lost call says that its outcome is unknown."""
    seen = await _storm(stage)
    repeated = sum(1 for count in seen.effects.values() if count > 1)
    lost = [record for record in seen.records if record.reason == "actor_died"]
    silent = sum("outcome unknown" not in record.message for record in lost)
    figure = f"{repeated} of {len(seen.effects)} effects repeated; {len(lost)} lost, {silent} of them without the words"
    return Measured(figure, repeated == 0 and silent == 0 and len(lost) > 0)


async def recovery(stage: Stage) -> Measured:
    """P4: a kill becomes a record quickly, and the child answers again."""
    told: list[float] = []
    again: list[float] = []
    file, built = stage.folder / "recovery", stage.folder / "pids"
    file.touch()
    async with stage.pool("worker") as pool:
        for number in range(stage.size(12, 3)):
            scope = {"tenant": str(number), "pids": str(built)}
            async with pool.scope(scope) as fleet:
                running = asyncio.create_task(fleet.delegate("worker", f"{file} {number} 60"))
                if await within(partial(_holds, file, str(number)), 20) is None:
                    return Measured("a task did not start within 20 s", False)
                killed = time.monotonic()
                os.kill(noted_pids(built)[-1], signal.SIGKILL)
                record = await running
                told.append(time.monotonic() - killed)
                if record.reason != "actor_died":
                    return Measured(f"the record said {record.reason!r}", False)
                answered = await fleet.delegate("worker", f"{file} again 0")
                again.append(time.monotonic() - killed)
                if not (answered.outcome.delivered and answered.fresh):
                    return Measured(f"afterwards: {answered.reason or 'not fresh'}", False)
            await pool.close_scope(scope)
    record_p95, again_p95 = percentile(told, 0.95), percentile(again, 0.95)
    figure = f"record p95 {record_p95 * 1000:.0f} ms, answer p95 {again_p95:.2f} s, of {len(told)}"
    return Measured(figure, record_p95 <= 0.25 and again_p95 <= 5.0)


async def crash_loops(stage: Stage) -> Measured:
    """P5: a child that keeps dying is put into quarantine with a reason; other scopes see nothing of it."""
    file = stage.folder / "deaths"
    file.touch()
    async with stage.pool("poisoned") as pool, pool.scope("bad") as bad, pool.scope("good") as good:
        records, others = [], []
        for _ in range(8):
            records.append(await bad.delegate("poisoned", f"die {file}"))
            others.append(await good.delegate("poisoned", "fine"))
    deaths = len(file.read_text().split())
    reasons = Counter(record.reason for record in records)
    harmed = sum(not record.outcome.delivered for record in others)
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    harm = f"{harmed} of {len(others)} calls of the other scope harmed"
    figure = f"{deaths} processes killed by 8 poison tasks ({told}); {harm}"
    return Measured(figure, deaths <= 3 and reasons["quarantined"] > 0 and harmed == 0)


def _holds(file: Path, word: str) -> bool:
    return word in file.read_text().split()
