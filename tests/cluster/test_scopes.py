"""Building, sharing nothing, and ending: the life of a scope on a real Ray."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cluster import ChildBuildError, LimitError, Placement, PoolClosedError, PoolLimits
from symfonic_ray.delegation import ChildDeclarationError, DelegationOutcome, DuplicateChildError, ScopedChild
from symfonic_ray.kernel import ScopeError
from tests.cluster.conftest import PoolMaker, alive, child, host_titles, hosts, until

LOOK_ALIKE_SCOPES: list[Any] = ["acme/a", "acme_a", "ACME/A", ("acme", "a"), ["acme", "a"]]


async def test_scopes_that_look_alike_share_no_process_and_no_memory(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")
    for number, scope in enumerate(LOOK_ALIKE_SCOPES):
        async with pool.scope(scope) as fleet:
            await fleet.delegate("memo", f"k={number}")
    answers = []
    for scope in LOOK_ALIKE_SCOPES:
        async with pool.scope(scope) as fleet:
            record = await fleet.delegate("memo", "k")
            answers.append(record.message)
    assert answers == [f"{scope}:{number}" for number, scope in enumerate(LOOK_ALIKE_SCOPES)]
    found = await hosts(pool.name, len(LOOK_ALIKE_SCOPES))
    assert not any("acme" in title.lower() for title in found)


async def test_first_calls_at_the_same_time_build_a_scope_once(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")

    async def first(number: int) -> int:
        async with pool.scope("acme") as fleet:
            record = await fleet.delegate("memo", f"k{number}=1")
            return int(record.generation)

    assert set(await asyncio.gather(*(first(n) for n in range(8)))) == {1}
    await hosts(pool.name, 1)


async def test_a_lazy_child_is_built_once_by_its_first_calls(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo", placements={"memo": Placement(lazy=True)})
    async with pool.scope("acme") as fleet:
        assert host_titles(pool.name) == {}
        records = await asyncio.gather(*(fleet.delegate("memo", f"k{n}=1") for n in range(8)))
        assert {record.generation for record in records} == {1}
        await hosts(pool.name, 1)


async def test_children_that_share_a_scope_s_host_are_one_process(open_pool: PoolMaker) -> None:
    shared = Placement(share="scope")
    pool = await open_pool("echo", "memo", "teller", placements={"echo": shared, "memo": shared})
    async with pool.scope("acme") as fleet:
        await hosts(pool.name, 2)
        records = [await fleet.delegate(name, "0") for name in ("echo", "memo", "teller")]
    assert all(record.outcome is DelegationOutcome.DELIVERED for record in records)
    report = await pool.close_scope("acme")
    assert (report.attempted, report.clean) == (3, True)


async def test_a_scope_closed_and_reopened_is_a_new_child_each_time(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")
    for _ in range(4):
        async with pool.scope("acme") as fleet:
            record = await fleet.delegate("memo", "k=1")
            assert record.outcome is DelegationOutcome.DELIVERED
            assert (await fleet.delegate("memo", "k")).message == "acme:1"
        await pool.close_scope("acme")
        late = await fleet.delegate("memo", "k")
        assert late.reason == "shutting_down"
        await hosts(pool.name, 0)


async def test_leaving_a_scope_only_releases_the_hold(open_pool: PoolMaker) -> None:
    pool = await open_pool("memo")
    async with pool.scope("acme") as fleet:
        await fleet.delegate("memo", "k=1")
        assert pool.stats().scopes["acme"].holds == 1
    assert pool.stats().live_scopes == 1
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("memo", "k")).message == "acme:1"


async def test_build_and_close_share_one_task_and_at_concurrency_one_so_does_the_run(open_pool: PoolMaker) -> None:
    pool = await open_pool("task_bound")
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("task_bound", "x")).message == "True"
    assert (await pool.close_scope("acme")).failures == ()


async def test_shutdown_flushes_closes_names_what_failed_and_ends_every_process(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    names = ("lasting_well", "lasting_raises", "lasting_hangs")
    limits = PoolLimits(flush_seconds=1.0, close_seconds=1.0, terminate_seconds=1.0)
    pool = await open_pool(*names, limits=limits)
    scope = {"folder": str(tmp_path)}
    async with pool.scope(scope):
        pids = list((await hosts(pool.name, 3)).values())
        started = time.monotonic()
        report, same = await asyncio.gather(pool.close_scope(scope), pool.close_scope(scope))
        seconds = time.monotonic() - started
    assert report is same
    assert report is await pool.close_scope(scope)
    assert (report.attempted, report.clean) == (3, False)
    assert [line.split(":")[0] for line in report.failures] == ["lasting_raises", "lasting_hangs"]
    assert "flush broke" in report.failures[0]
    assert "1 seconds" in report.failures[1]
    assert (tmp_path / "well").read_text() == "flushed\nclosed\n"
    assert (tmp_path / "raises").read_text() == "closed\n"
    assert (tmp_path / "hangs").read_text() == "closed\n"
    assert seconds < 1.0 + 1.0 + 1.0 + 2.0
    assert await until(lambda: not any(alive(pid) for pid in pids), 2)


async def test_closing_a_scope_ends_its_hand_offs_in_a_record(open_pool: PoolMaker) -> None:
    limits = PoolLimits(flush_seconds=1.0, close_seconds=1.0, terminate_seconds=0.5)
    pool = await open_pool("sleeper", "wedged", limits=limits)
    async with pool.scope("acme") as fleet:
        polite = asyncio.create_task(fleet.delegate("sleeper", "30"))
        stuck = asyncio.create_task(fleet.delegate("wedged", "30"))
        await asyncio.sleep(0.3)
        report = await pool.close_scope("acme")
        records = await asyncio.gather(polite, stuck)
    assert [record.reason for record in records] == ["cancelled", "cancelled"]
    assert any(line.startswith("wedged:") for line in report.failures)


async def test_a_capability_s_own_shutdown_flushes_and_closes_its_hosts(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("lasting_well")
    async with pool.scope({"folder": str(tmp_path)}) as fleet:
        await fleet.delegate("lasting_well", "x")
        report = await fleet.delegation.shutdown()
        assert report is await fleet.delegation.shutdown()
        assert report.clean
        assert (tmp_path / "well").read_text() == "flushed\nclosed\n"
        await hosts(pool.name, 0)
        late = await fleet.delegate("lasting_well", "x")
    assert late.reason == "shutting_down"


BAD_BUILDS = [
    ("build_raises", "build_failed", "KeywordError: code 5"),
    ("build_gives_none", "build_failed", "NoneType"),
    ("build_exits", "build_failed", "SystemExit: 1"),
    ("build_hangs", "build_timeout", "1.5 seconds"),
    ("build_hangs_politely", "build_timeout", "1.5 seconds"),
    ("armed", "lockdown", "memory_block_append"),
]


@pytest.mark.parametrize(("build", "reason", "cause"), BAD_BUILDS, ids=[row[0] for row in BAD_BUILDS])
async def test_a_child_that_cannot_be_built_fails_the_scope_and_leaves_no_process(
    open_pool: PoolMaker, tmp_path: Path, build: str, reason: str, cause: str
) -> None:
    hangs = "hangs" in build
    limits = PoolLimits(build_seconds=1.5) if hangs else PoolLimits()
    placements = {"lasting_well": Placement(lazy=hangs)}
    pool = await open_pool("lasting_well", build, limits=limits, placements=placements)
    with pytest.raises(ChildBuildError) as caught:
        async with pool.scope({"folder": str(tmp_path)}):
            pass
    assert caught.value.child == build
    assert caught.value.reason in ({reason, "busy"} if hangs else {reason})
    if caught.value.reason == reason:
        assert cause in caught.value.cause
    assert build in str(caught.value)
    assert await until(lambda: host_titles(pool.name) == {}, 3)
    if not hangs:
        assert (tmp_path / "well").read_text() == "flushed\nclosed\n"


async def test_a_child_that_fits_no_node_is_infeasible_and_says_what_is_missing(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", placements={"echo": Placement(num_cpus=64)}, limits=PoolLimits(build_seconds=1.0))
    with pytest.raises(ChildBuildError) as caught:
        async with pool.scope("acme"):
            pass
    assert caught.value.reason == "infeasible"
    assert "64 CPU" in caught.value.cause


async def test_a_build_named_by_an_import_string_works(open_pool: PoolMaker) -> None:
    named = ScopedChild(name="named", description="is named", build="tests.cluster.children:echo")
    pool = await open_pool(named)
    async with pool.scope("acme") as fleet:
        assert (await fleet.delegate("named", "x")).message.endswith("|x")


async def test_a_build_that_holds_a_lock_is_refused_when_the_pool_is_made(open_pool: PoolMaker) -> None:
    lock = threading.Lock()

    def build(scope: Any) -> Any:
        return lock

    bad = ScopedChild(name="locked", description="holds a lock", build=build)
    with pytest.raises(ChildBuildError) as caught:
        await open_pool("echo", bad)
    assert (caught.value.child, caught.value.reason) == ("locked", "unpicklable")
    assert "'lock'" in caught.value.cause


async def test_a_full_pool_closes_the_idlest_scope_and_never_one_in_use(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("lasting_well", limits=PoolLimits(max_live_scopes=2, build_seconds=10.0))

    def place(name: str) -> dict[str, str]:
        (tmp_path / name).mkdir(exist_ok=True)
        return {"folder": str(tmp_path / name)}

    async with pool.scope(place("one")) as first:
        async with pool.scope(place("two")):
            pass
        async with pool.scope(place("three")) as third:
            assert not (tmp_path / "one" / "well").exists()
            assert (tmp_path / "two" / "well").read_text() == "flushed\nclosed\n"
            assert pool.stats().live_scopes == 2
            with pytest.raises(ChildBuildError, match="in use") as caught:
                async with pool.scope(place("four")):
                    pass
            assert caught.value.reason == "busy"
            assert (await first.delegate("lasting_well", "x")).fresh is False
            assert (await third.delegate("lasting_well", "x")).fresh is False
    async with pool.scope(place("two")) as returning:
        record = await returning.delegate("lasting_well", "x")
        assert (record.outcome, record.fresh) == (DelegationOutcome.DELIVERED, True)
        assert (await returning.delegate("lasting_well", "x")).fresh is False


async def test_a_newcomer_gets_the_place_of_a_scope_that_is_let_go(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", limits=PoolLimits(max_live_scopes=1))
    let_go = asyncio.Event()

    async def holder() -> None:
        async with pool.scope("one"):
            await let_go.wait()

    holding = asyncio.create_task(holder())
    await hosts(pool.name, 1)

    async def newcomer() -> str:
        async with pool.scope("two") as fleet:
            return str((await fleet.delegate("echo", "x")).message)

    waiting = asyncio.create_task(newcomer())
    await asyncio.sleep(0.2)
    assert not waiting.done()
    let_go.set()
    assert (await waiting).startswith("two|")
    await holding


async def test_an_idle_scope_is_flushed_and_closed_after_its_time(open_pool: PoolMaker, tmp_path: Path) -> None:
    pool = await open_pool("lasting_well", limits=PoolLimits(idle_ttl_seconds=1.0))
    async with pool.scope({"folder": str(tmp_path)}):
        await asyncio.sleep(1.5)
        assert not (tmp_path / "well").exists()
    assert await until(lambda: (tmp_path / "well").exists() and "closed" in (tmp_path / "well").read_text(), 10)
    assert await until(lambda: pool.stats().live_scopes == 0, 5)
    await hosts(pool.name, 0)


async def test_a_second_scope_is_bound_to_a_process_that_was_started_ahead(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", limits=PoolLimits(warm_hosts=1))
    async with pool.scope("one"):
        assert await until(lambda: pool.stats().warm_hosts == 1, 20)
        async with pool.scope("two") as fleet:
            record = await fleet.delegate("echo", "x")
            assert record.outcome is DelegationOutcome.DELIVERED
            assert record.fresh is False
        assert await until(lambda: pool.stats().warm_hosts == 1, 20)
        assert await until(lambda: pool.stats().live_hosts == 2, 5)


async def test_a_child_in_demand_gets_more_hosts_up_to_its_most(open_pool: PoolMaker) -> None:
    pool = await open_pool(
        "sleeper", placements={"sleeper": Placement(replicas=(1, 3))}, limits=PoolLimits(warm_hosts=0)
    )
    async with pool.scope("acme") as fleet:
        records = [r async for r in fleet.fan_out([("sleeper", "0.2") for _ in range(40)], in_flight=12)]
        assert {record.outcome for record in records} == {DelegationOutcome.DELIVERED}
        generations = {record.generation for record in records}
        assert 2 <= len(generations) <= 3
        # one that came up too late to answer anything is there all the same
        assert await until(lambda: len(generations) <= pool.stats().live_hosts <= 3, 5)


@pytest.mark.parametrize("scope", [None, "", " ", "*", "..", "a\u200bb", "x" * 129, float("nan"), object()], ids=ascii)
async def test_a_scope_that_names_no_tenant_is_refused(open_pool: PoolMaker, scope: Any) -> None:
    pool = await open_pool("echo")
    with pytest.raises(ScopeError):
        async with pool.scope(scope):
            pass


async def test_a_pool_that_is_not_open_says_so(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")
    await pool.close()
    with pytest.raises(PoolClosedError, match="async with"):
        async with pool.scope("acme"):
            pass


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"placements": {"ghost": Placement()}}, ChildDeclarationError),
        ({"placements": {"echo": Placement(delegates_to=("ghost",))}}, ChildDeclarationError),
        ({"limits": PoolLimits(max_hosts=1), "more": "memo"}, LimitError),
        (
            {
                "placements": {"echo": Placement(share="scope"), "memo": Placement(share="scope", num_cpus=1)},
                "more": "memo",
            },
            LimitError,
        ),
        ({"journal": "file"}, TypeError),
    ],
    ids=["placement of nobody", "delegates to nobody", "too few hosts", "one process, two wishes", "journal"],
)
async def test_what_a_pool_cannot_keep_is_refused_before_anything_starts(
    open_pool: PoolMaker, options: dict[str, Any], error: type[Exception]
) -> None:
    builds = ["echo", *([options.pop("more")] if "more" in options else [])]
    with pytest.raises(error):
        await open_pool(*builds, **options)


async def test_two_children_of_one_name_are_refused(open_pool: PoolMaker) -> None:
    with pytest.raises(DuplicateChildError):
        await open_pool(child("echo"), child("echo"))
