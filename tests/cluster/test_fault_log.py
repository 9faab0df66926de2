"""What goes wrong is counted by reason, logged once and structured, and told to metrics; nothing of it is a task."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import Counter
from typing import Any

import pytest

from symfonic_ray.cluster import Placement, PoolLimits, PoolStats
from symfonic_ray.cluster.fault_log import EventKind, FaultEvent, FaultLog, HostEvent
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord
from tests.chaos.children import poisoned
from tests.cluster.conftest import PoolMaker


class Memory:
    """Metrics in memory."""

    def __init__(self) -> None:
        self.faults: list[FaultEvent] = []
        self.samples: list[PoolStats] = []

    def fault(self, event: FaultEvent) -> None:
        self.faults.append(event)

    def sample(self, stats: PoolStats) -> None:
        self.samples.append(stats)


def record(outcome: DelegationOutcome, reason: str, **more: Any) -> DelegationRecord:
    told: dict[str, Any] = {"name": "reader", "depth": 1, "message": "no luck\nat all"} | more
    return DelegationRecord(outcome=outcome, reason=reason, **told)


def host_event(number: int, kind: EventKind, generation: int) -> HostEvent:
    return HostEvent(
        number=number, kind=kind, scope_key="s:acme", child="reader", generation=generation, why="actor_died", at=1.0
    )


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [entry.symfonic_ray for entry in caplog.records if entry.name == "symfonic_ray.faults"]  # type: ignore[attr-defined]


def test_a_record_is_counted_and_logged_once_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="symfonic_ray.faults")
    log = FaultLog(["reader"])
    log.record(record(DelegationOutcome.DELIVERED, ""))
    log.record(record(DelegationOutcome.REFUSED_BUDGET, "budget", run_id="r", root_run_id="t", scope_key="s:acme"))
    log.record(record(DelegationOutcome.CHILD_FAILED, "exception"))
    log.record(record(DelegationOutcome.UNKNOWN_CHILD, "unknown_child", name="\x1b[31m a task in the name's place"))
    assert (log.delivered, log.by_reason) == (1, {"budget": 1, "exception": 1, "unknown_child": 1})
    refusal, failure, unknown = events(caplog)
    assert (refusal["kind"], refusal["reason"]) == ("refusal", "budget")
    assert (refusal["run_id"], refusal["root_run_id"]) == ("r", "t")
    assert (failure["kind"], failure["words"]) == ("failure", "no luck at all")
    assert (unknown["child"], unknown["words"]) == ("(unknown)", "")
    assert [entry.levelname for entry in caplog.records] == ["WARNING", "INFO", "WARNING"]
    assert all(len(entry.getMessage().splitlines()) == 1 for entry in caplog.records)
    assert json.loads(json.dumps(events(caplog))) == events(caplog)


def test_what_befell_a_host_is_told_once_and_a_broken_metric_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Memory):
        def fault(self, event: FaultEvent) -> None:
            raise OSError("no network")

    log, memory = FaultLog(["reader"]), Memory()
    log.report_to(Broken())
    log.report_to(memory)
    first, second = host_event(1, "kill", 3), host_event(2, "restart", 4)
    log.hosts([first])
    log.hosts([first, second])
    assert [(event.kind, event.generation) for event in memory.faults] == [("kill", 3), ("restart", 4)]
    assert len(events(caplog)) == 2
    assert log.heard == 2


def test_nothing_is_printed_until_a_program_configures_logging(capfd: pytest.CaptureFixture[str]) -> None:
    assert any(
        isinstance(handler, logging.NullHandler) for handler in logging.getLogger("symfonic_ray.faults").handlers
    )
    FaultLog([]).record(record(DelegationOutcome.REFUSED_DEPTH, "depth"))
    assert capfd.readouterr() == ("", "")


async def test_kill_restart_and_quarantine_are_events_and_the_stats_say_who_and_why(
    open_pool: PoolMaker, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory()
    pool = await open_pool(_declared())
    pool.report_to(memory)
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("poisoned", "fine")).outcome.delivered
        for _ in range(4):
            await fleet.delegate("poisoned", f"die {os.devnull}")
        await fleet.delegate("ghost", "a task that nobody may log")
        async with asyncio.timeout(10):
            while not pool.stats().scopes[fleet.scope_key].quarantined:  # noqa: ASYNC110  # stats are polled
                await asyncio.sleep(0.05)
        stats = pool.stats()
        assert stats.scopes[fleet.scope_key].quarantined == {"poisoned": "actor_died"}
        assert (stats.delivered, stats.undelivered) == (1, {"actor_died": 3, "quarantined": 1, "unknown_child": 1})
        kinds = Counter(event.kind for event in memory.faults)
        assert kinds == {"failure": 4, "kill": 3, "restart": 2, "quarantine": 1, "refusal": 1}
        assert {event.scope_key for event in memory.faults if event.kind == "kill"} == {fleet.scope_key}
        assert "nobody may log" not in caplog.text
        assert memory.samples


async def test_what_is_refused_further_down_is_counted_in_the_driver(open_pool: PoolMaker) -> None:
    pool = await open_pool("fan", max_depth=2, placements={"fan": Placement(delegates_to=("fan",), concurrency=16)})
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("fan", "x")).outcome.delivered
        stats = pool.stats()
        assert stats.delivered == 1 + 3
        assert stats.undelivered["depth"] >= 3


async def test_a_bulk_fan_out_is_counted_as_single_hand_offs_are(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", limits=PoolLimits(payload_bytes=1024))
    async with pool.scope("acme") as fleet:
        tasks = [("echo", "x"), ("echo", "y" * 2000), ("ghost", "z"), ("echo", "x")]
        assert len([record async for record in fleet.fan_out(tasks)]) == 4
        stats = pool.stats()
        assert (stats.delivered, stats.undelivered) == (2, {"payload_too_large": 1, "unknown_child": 1})


async def test_rays_own_metrics_take_every_event_and_sample(open_pool: PoolMaker) -> None:
    from symfonic_ray.cluster.metrics import RayMetrics

    pool = await open_pool("echo")
    metrics = RayMetrics(pool.name)
    metrics.sample(pool.stats())
    log = FaultLog(["reader"])
    memory = Memory()
    log.report_to(memory)
    log.record(record(DelegationOutcome.REFUSED_BUDGET, "budget"))
    log.hosts([host_event(1, "kill", 1)])
    for event in memory.faults:
        metrics.fault(event)


def _declared() -> Any:
    from symfonic_ray.delegation import ScopedChild

    return ScopedChild(name="poisoned", description="dies when asked", build=poisoned)
