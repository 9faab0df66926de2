"""A frozen scope takes no work and does none; thawed, it goes on with the hosts and memories that it had."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from symfonic_ray.cluster import Placement, PoolLimits
from symfonic_ray.cluster.scoped_pool import PoolClosedError
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord, PrebuiltChild
from symfonic_ray.kernel import ScopeError
from tests.cluster.conftest import PoolMaker, until

REFUSED = (DelegationOutcome.REFUSED_OVERLOAD, "frozen")
CANCELLED = (DelegationOutcome.CHILD_FAILED, "cancelled")
ENOUGH_SECONDS = 5.0  # a freeze's graces on a busy machine


def verdict(record: DelegationRecord) -> tuple[DelegationOutcome, str]:
    """Outcome and reason."""
    return record.outcome, record.reason


async def test_a_frozen_scope_stops_what_runs_refuses_the_rest_and_touches_no_other(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    polite, blocking = tmp_path / "polite", tmp_path / "blocking"
    pool = await open_pool("sleeper", "Blocking", "memo", placements={"sleeper": Placement(concurrency=8)})
    async with pool.scope("acme") as acme, pool.scope("zeta") as zeta:
        await acme.delegate("memo", "colour=blue")
        running = [
            asyncio.create_task(acme.delegate("sleeper", f"write {polite} 60")),
            asyncio.create_task(acme.delegate("Blocking", f"{blocking} 60")),
        ]
        elsewhere = asyncio.create_task(zeta.delegate("sleeper", "2"))
        assert await until(lambda: polite.exists() and blocking.exists(), 20)
        pool.freeze("acme")
        began = time.monotonic()
        assert verdict(await acme.delegate("memo", "colour")) == REFUSED
        assert [verdict(record) async for record in acme.fan_out([("memo", "a"), ("sleeper", "1")])] == [REFUSED] * 2
        assert [verdict(record) for record in await asyncio.gather(*running)] == [CANCELLED] * 2
        assert time.monotonic() - began < ENOUGH_SECONDS
        sizes = polite.stat().st_size, blocking.stat().st_size
        assert pool.stats().scopes[zeta.scope_key].frozen is False
        assert pool.stats().scopes[acme.scope_key].frozen is True
        assert (await elsewhere).outcome.delivered
        assert (polite.stat().st_size, blocking.stat().st_size) == sizes
        pool.thaw("acme")
        remembered = await acme.delegate("memo", "colour")
        assert (remembered.message, remembered.fresh) == ("acme:blue", False)
        again = await acme.delegate("Blocking", f"{blocking} 0.1")
        assert (again.outcome, again.fresh) == (DelegationOutcome.DELIVERED, True)  # its host had to be killed


async def test_what_waits_for_a_slot_is_refused_at_once(open_pool: PoolMaker, tmp_path: Path) -> None:
    limits = PoolLimits(max_in_flight_per_scope=2)
    pool = await open_pool("noted", placements={"noted": Placement(concurrency=8)}, limits=limits)
    file = tmp_path / "started"
    async with pool.scope("acme") as fleet:
        flying = [asyncio.create_task(fleet.delegate("noted", f"{file} 60")) for _ in range(10)]
        bulk = asyncio.create_task(_all(fleet.fan_out([("noted", f"{file} 60")] * 10, in_flight=10)))
        assert await until(lambda: file.exists() and file.stat().st_size == 2, 20)
        await asyncio.sleep(0.1)
        pool.freeze()
        began = time.monotonic()
        records = [verdict(record) for record in (*await asyncio.gather(*flying), *await bulk)]
        assert time.monotonic() - began < ENOUGH_SECONDS
        assert (records.count(REFUSED), records.count(CANCELLED)) == (18, 2)
        assert file.stat().st_size == 2
        assert (pool.stats().in_flight, pool.stats().queued, pool.stats().frozen) == (0, 0, True)
        pool.thaw()
        assert (await fleet.delegate("noted", f"{file} 0")).outcome.delivered


async def test_a_tree_is_stopped_at_every_depth_and_cannot_hand_on_meanwhile(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    file = tmp_path / "told"
    placements = {"stubborn": Placement(delegates_to=("stubborn", "noted"), concurrency=8)}
    pool = await open_pool("stubborn", "noted", placements=placements)
    async with pool.scope("acme") as fleet:
        running = asyncio.create_task(fleet.delegate("stubborn", str(file)))
        assert await until(lambda: file.exists() and bool(file.stat().st_size), 20)
        pool.freeze("acme")
        assert verdict(await running) == CANCELLED
        pool.thaw("acme")
        assert (await fleet.delegate("noted", f"{tmp_path / 'after'} 0")).outcome.delivered


async def test_a_child_of_this_process_is_frozen_and_stopped_too(open_pool: PoolMaker) -> None:
    class Waiting:
        started = 0

        async def run(self, query: str) -> str:
            Waiting.started += 1
            await asyncio.sleep(float(query))
            return "done"

    pool = await open_pool(PrebuiltChild(name="waiting", description="waits", agent=Waiting()))
    async with pool.scope("acme") as fleet:
        running = asyncio.create_task(fleet.delegate("waiting", "60"))
        assert await until(lambda: Waiting.started == 1, 5)
        pool.freeze("acme")
        assert verdict(await running) == CANCELLED
        assert verdict(await fleet.delegate("waiting", "0")) == REFUSED
        assert Waiting.started == 1
        pool.thaw("acme")
        assert (await fleet.delegate("waiting", "0")).message == "done"


async def test_each_freeze_is_ended_by_its_own_thaw_and_holds_for_scopes_to_come(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")
    pool.freeze()
    pool.freeze("acme")
    pool.freeze("acme")
    pool.thaw("never frozen")
    async with pool.scope("acme") as acme, pool.scope("zeta") as zeta:
        assert verdict(await zeta.delegate("echo", "x")) == REFUSED
        pool.thaw()
        assert (await zeta.delegate("echo", "x")).outcome.delivered
        assert verdict(await acme.delegate("echo", "x")) == REFUSED
        assert (await pool.close_scope("acme")).clean
    async with pool.scope("acme") as acme:  # closing a scope does not thaw it
        assert verdict(await acme.delegate("echo", "x")) == REFUSED
        pool.thaw("acme")
        assert (await acme.delegate("echo", "x")).outcome.delivered
    with pytest.raises(ScopeError):
        pool.freeze("*")
    await pool.close()
    with pytest.raises(PoolClosedError):
        pool.freeze("acme")


async def _all(records: object) -> list[DelegationRecord]:
    return [record async for record in records]  # type: ignore[attr-defined]


async def test_a_watcher_hears_of_every_scope_those_to_come_too_until_it_ends(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")
    heard: list[tuple[str, str]] = []
    async with pool.scope("acme") as acme:
        end = pool.observe(lambda key, event: heard.append((key, type(event).__name__)))
        await acme.delegate("echo", "x")
        async with pool.scope("zeta") as zeta:
            await zeta.delegate("echo", "x")
        await pool.close_scope("zeta")
        async with pool.scope("zeta") as zeta:
            await zeta.delegate("echo", "x")
            end()
            end()
            await zeta.delegate("echo", "x")
        await acme.delegate("echo", "x")
        assert [key for key, _ in heard] == [acme.scope_key] * 2 + [zeta.scope_key] * 4
        assert {kind for _, kind in heard} == {"HandOffStarted", "HandOffEnded"}
