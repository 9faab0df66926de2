"""P9, P10, P11, P20: tenants that never meet, that share fairly, and whose use is bounded."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
from pathlib import Path

from symfonic_ray.cluster import Placement, PoolLimits, RunLimits, ScopedFleet
from symfonic_ray.cluster.directory import HostLink
from symfonic_ray.cluster.envelope import Address, HandOffRow, seal_batch
from symfonic_ray.delegation import DelegationOutcome
from tests.chaos.stage import Measured, Stage, jain, memory_bytes, noted_pids, percentile, within

SERVICE_SECONDS = 0.05
_MB = 1024 * 1024


async def never_meet(stage: Stage) -> Measured:
    """P9: no answer holds another tenant's canary, and nothing forged is run."""
    scopes, children, calls = stage.size(20, 3), stage.size(5, 2), stage.size(50, 20)
    names = [f"tenant{number}" for number in range(children)]
    foreign = answered = 0
    limits = PoolLimits(max_live_scopes=scopes, max_hosts=200, build_seconds=120.0)
    async with stage.pool(
        *names, placements=dict.fromkeys(names, Placement(concurrency=8, share="scope")), limits=limits
    ) as pool:

        async def one(scope: str) -> None:
            nonlocal foreign, answered
            async with pool.scope(scope) as fleet:
                tasks = [(name, f"word-of-{scope} {number}") for name in names for number in range(calls)]
                async for record in fleet.fan_out(tasks, in_flight=16):
                    answered += record.outcome.delivered
                    foreign += record.message != f"canary-{scope} ['word-of-{scope}']"

        await asyncio.gather(*(one(f"s{number}") for number in range(scopes)))
    forged, ran = await _forged(stage)
    asked = scopes * children * calls
    figure = f"{foreign} foreign of {answered} answers ({scopes} scopes); {forged} forged batches refused, {ran} run"
    return Measured(figure, foreign == 0 and answered == asked and ran == 0 and forged == stage.size(10_000, 500))


async def _forged(stage: Stage) -> tuple[int, int]:
    """Batches that are not what they say, sent straight to a host: how many were refused, and how many ran."""
    from symfonic_ray.cluster.remote_call import CallLostError, answer_of

    chance = stage.chance("forged")
    file = stage.folder / "forged"
    file.touch()
    count = stage.size(10_000, 500)
    async with stage.pool("worker") as pool, pool.scope("acme") as fleet, pool.scope("zeta") as other:
        await fleet.delegate("worker", f"{file} own 0")
        await other.delegate("worker", f"{file} own 0")
        link = _link(fleet, "worker")
        key = pool._plan.key
        refused = 0

        async def send(number: int) -> None:
            nonlocal refused
            try:
                await answer_of(
                    link.handle.run.remote(_forgery(chance, number, file, link.generation, fleet, other, key)), 30
                )
            except CallLostError:
                refused += 1

        for first in range(0, count, 200):
            await asyncio.gather(*(send(number) for number in range(first, min(first + 200, count))))
    return refused, len(file.read_text().split()) - 2


def _link(fleet: ScopedFleet, child: str) -> HostLink:
    directory = fleet._directory
    assert directory is not None
    link = directory.known(child)
    assert link is not None
    return link


def _forgery(
    chance: random.Random, number: int, file: Path, generation: int, fleet: ScopedFleet, other: ScopedFleet, key: bytes
) -> bytes:
    """A batch with one thing wrong: its key, scope, child, generation, depth, or a byte of it."""
    row = HandOffRow(f"forged-{number}", f"{file} forged 0", 1, f"run-{number}", f"run-{number}", None, (), 10.0)
    address = Address(fleet.scope_key, "worker", generation)
    match chance.randrange(6):
        case 0:
            return seal_batch(address, [row], key=chance.randbytes(32))
        case 1:
            return seal_batch(Address(other.scope_key, "worker", generation), [row], key=key)
        case 2:
            return seal_batch(Address(fleet.scope_key, "other", generation), [row], key=key)
        case 3:
            return seal_batch(
                Address(fleet.scope_key, "worker", generation + chance.choice((-1, 1, 7))), [row], key=key
            )
        case 4:
            row.agent_depth = chance.choice((0, -1, 4, 10_000))
            return seal_batch(address, [row], key=key)
        case _:
            sealed = bytearray(seal_batch(address, [row], key=key))
            sealed[chance.randrange(len(sealed))] ^= 1 << chance.randrange(8)
            return bytes(sealed)


async def fair_share(stage: Stage) -> Measured:
    """P10: a flood of one tenant costs the others one service time; equal weights share equally, others by weight."""
    flood = stage.size(2000, 400)
    limits = PoolLimits(max_in_flight=16, max_in_flight_per_scope=16, max_queued_per_scope=flood + 10)
    wide = {"sleeper": Placement(concurrency=64)}
    async with (
        stage.pool("sleeper", limits=limits, placements=wide) as pool,
        pool.scope("flooder") as flooder,
        pool.scope("quiet") as quiet,
    ):

        async def singles(count: int) -> list[float]:
            return [(await quiet.delegate("sleeper", str(SERVICE_SECONDS))).seconds for _ in range(count)]

        solo = percentile(await singles(20), 0.95)
        flying = asyncio.create_task(_drained(flooder, flood))
        await asyncio.sleep(0.5)
        beside = percentile(await singles(20), 0.95)
        flying.cancel()
        await asyncio.gather(flying, return_exceptions=True)
    equal = await _shares(stage, {}, stage.size(4, 3))
    weighted = await _shares(stage, {"t0": 3.0}, 2)
    ratio = weighted[0] / weighted[1]
    refusal = await _refusal(stage)
    fairness = jain(equal)
    figure = (
        f"p95 {solo * 1000:.0f} ms alone, {beside * 1000:.0f} ms beside a flood of {flood}; Jain {fairness:.3f}; "
        f"weights 3:1 gave {ratio:.2f}; a refusal took {refusal * 1000:.1f} ms"
    )
    kept = beside <= 2 * solo + SERVICE_SECONDS and fairness >= 0.95 and 2.7 <= ratio <= 3.3 and refusal <= 0.05
    return Measured(figure, kept)


async def _drained(fleet: ScopedFleet, count: int) -> None:
    async with fleet.fan_out((("sleeper", str(SERVICE_SECONDS)) for _ in range(count)), in_flight=count) as records:
        async for _ in records:
            pass


async def _shares(stage: Stage, weights: dict[str, float], tenants: int) -> list[int]:
    """Hand-offs that each of some flooding tenants had done when half of all were."""
    each = stage.size(400, 150)
    limits = PoolLimits(max_in_flight=8, max_in_flight_per_scope=8, max_queued_per_scope=each + 10, weights=weights)
    done = [0] * tenants
    half = asyncio.Event()
    async with stage.pool("sleeper", limits=limits, placements={"sleeper": Placement(concurrency=64)}) as pool:

        async def flood(number: int) -> None:
            async with pool.scope(f"t{number}") as fleet:
                ready.release()
                await go.wait()
                async with fleet.fan_out([("sleeper", "0.01")] * each, in_flight=each) as records:
                    async for _ in records:
                        if not half.is_set():
                            done[number] += 1
                        if sum(done) >= tenants * each // 2:
                            half.set()

        ready, go = asyncio.Semaphore(0), asyncio.Event()
        floods = [asyncio.create_task(flood(number)) for number in range(tenants)]
        for _ in floods:
            await ready.acquire()
        go.set()
        await asyncio.wait_for(half.wait(), 120)
        for one in floods:
            one.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
    return done


async def _refusal(stage: Stage) -> float:
    """The slowest of twenty refusals of a queue that is full."""
    limits = PoolLimits(max_in_flight_per_scope=2, max_queued_per_scope=5)
    slowest = 0.0
    wide = {"sleeper": Placement(concurrency=8)}
    async with stage.pool("sleeper", limits=limits, placements=wide) as pool, pool.scope("acme") as fleet:
        flying = [asyncio.create_task(fleet.delegate("sleeper", "5")) for _ in range(7)]
        await asyncio.sleep(0.3)
        for _ in range(20):
            record = await fleet.delegate("sleeper", "0")
            assert record.outcome is DelegationOutcome.REFUSED_OVERLOAD, record
            slowest = max(slowest, record.seconds)
        for one in flying:
            one.cancel()
        await asyncio.gather(*flying, return_exceptions=True)
    return slowest


async def bounded_use(stage: Stage) -> Measured:
    """P11: a recursion bomb, defaults, a task and an answer that are too large."""
    bomb = stage.folder / "bomb"
    bomb.touch()
    limit = stage.size(256, 64)
    placement = Placement(delegates_to=("bomb",), concurrency=64)
    async with (
        stage.pool(
            "bomb", max_depth=10, placements={"bomb": placement}, run_limits=RunLimits(max_delegations=limit)
        ) as pool,
        pool.scope("acme") as fleet,
    ):
        record = await fleet.delegate("bomb", str(bomb), timeout_seconds=120)
    depths = [int(line) for line in bomb.read_text().split()]
    runs, deepest = len(depths) - 1, max(depths)
    megabytes = stage.size(300, 60)
    async with stage.pool("large", "worker") as pool, pool.scope("acme") as fleet:
        await fleet.delegate("large", "10")
        gc.collect()
        before = memory_bytes()
        answer = await fleet.delegate("large", str(megabytes * _MB), timeout_seconds=120)
        grown = (memory_bytes() - before) / _MB
        task = await fleet.delegate("worker", "x" * (PoolLimits().payload_bytes + 1))
    defaults = PoolLimits()
    kept = (
        runs <= limit
        and deepest <= 10
        and record.outcome.delivered
        and answer.outcome.delivered
        and grown < 64
        and task.reason == "payload_too_large"
        and (defaults.max_in_flight_per_scope, defaults.max_queued_per_scope) == (32, 1000)
        and defaults.payload_bytes == 1 << 20
    )
    figure = (
        f"bomb: {runs} runs below the root of {limit} allowed, deepest {deepest}, the root answered; {megabytes} MB "
        f"answer: driver +{grown:.0f} MB, cut to {len(answer.message) / _MB:.1f} MB; too large a task: {task.reason}"
    )
    return Measured(figure, kept)


async def soak(stage: Stage) -> Measured:
    """P20: many calls over many scopes leave nothing behind."""
    scopes, calls = stage.size(200, 8), stage.size(100, 50)
    limits = PoolLimits(max_live_scopes=20, build_seconds=120.0)
    descriptors = len(os.listdir("/proc/self/fd"))
    memory: list[int] = []
    built = stage.folder / "pids"
    began = time.monotonic()
    async with stage.pool("worker", limits=limits, placements={"worker": Placement(concurrency=32)}) as pool:

        async def one(number: int) -> None:
            scope = {"tenant": str(number), "pids": str(built)}
            async with places, pool.scope(scope) as fleet:
                async for record in fleet.fan_out([("worker", "/dev/null x 0")] * calls, in_flight=16):
                    assert record.outcome.delivered, record

        places = asyncio.Semaphore(8)
        for half in (range(scopes // 2), range(scopes // 2, scopes)):
            await asyncio.gather(*(one(number) for number in half))
            gc.collect()
            memory.append(memory_bytes())
    slope = (memory[1] - memory[0]) / (scopes // 2 * calls)
    gone = await within(lambda: not noted_pids(built), 10)
    more = len(os.listdir("/proc/self/fd")) - descriptors
    seconds = time.monotonic() - began
    figure = (
        f"{scopes * calls} calls over {scopes} scopes in {seconds:.0f} s: driver {slope:+.0f} B a call, "
        f"{more:+d} descriptors, {len(noted_pids(built))} of {len(built.read_text().split())} hosts left"
    )
    return Measured(figure, slope < 1024 and gone is not None and more <= 8)
