"""The run in flight, and how its scope closes (case D03)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from symfonic_ray.delegation import ActiveRun, DelegationContext
from symfonic_ray.kernel import RunIdentity, run_identity
from symfonic_ray.testing import RecordingSnapshots


async def test_outside_a_run_nothing_is_in_flight() -> None:
    context = DelegationContext()
    context.record_delegation("a")
    assert (context.current_depth(), context.current_run(), context.current_scope()) == (0, None, None)
    assert context.delegated_to() == ()


async def test_a_run_is_in_flight_for_the_length_of_its_scope() -> None:
    context = DelegationContext()
    async with context.run_scope(depth=2) as run:
        assert (context.current_run(), context.current_depth()) == (run, 2)
    assert (context.current_run(), context.current_depth()) == (None, 0)


async def test_a_scope_s_depth_is_coerced() -> None:
    async with DelegationContext().run_scope(depth="deep") as run:
        assert run.depth == 0


async def test_every_context_of_the_process_sees_the_run_in_flight() -> None:
    async with DelegationContext().run_scope(depth=2):
        assert DelegationContext().current_depth() == 2


async def test_scopes_nest() -> None:
    context = DelegationContext()
    async with context.run_scope(depth=1) as outer:
        async with context.run_scope(depth=2) as inner:
            context.record_delegation("deep")
        context.record_delegation("shallow")
        assert context.current_run() is outer
    assert (inner.delegated_to, outer.delegated_to) == (("deep",), ("shallow",))


async def test_identity_defaults_to_the_current_one() -> None:
    with run_identity(RunIdentity("r1", "r0", "rp")):
        async with DelegationContext().run_scope() as run:
            assert (run.run_id, run.root_run_id, run.parent_run_id) == ("r1", "r0", "rp")


async def test_a_given_identity_is_not_set_as_the_current_one() -> None:
    from symfonic_ray.kernel import current_run_identity

    async with DelegationContext().run_scope(identity=RunIdentity("r1", "r1")):
        assert current_run_identity() is None


def test_a_run_without_a_root_is_its_own_root() -> None:
    assert ActiveRun(0, RunIdentity("r1", "")).root_run_id == "r1"


def test_a_run_without_identity_has_blank_ids() -> None:
    run = ActiveRun(1)
    assert (run.run_id, run.root_run_id, run.parent_run_id) == ("", "", None)


def test_a_tally_keeps_order_and_repeats() -> None:
    run = ActiveRun(0)
    assert not run.delegated
    for name in ("b", "a", "b"):
        run.record(name)
    assert run.delegated_to == ("b", "a", "b")
    assert run.delegated


async def test_the_scope_is_asked_of_the_resolver_each_time() -> None:
    tenants = iter(["acme", "zeta"])
    context = DelegationContext(resolve_scope=lambda: next(tenants))
    assert (context.current_scope(), context.current_scope()) == ("acme", "zeta")


@pytest.mark.parametrize(("depth", "slots"), [(0, 0), (1, 1), (3, 1)])
async def test_only_a_delegated_run_takes_a_snapshot_slot(depth: int, slots: int) -> None:
    snapshots = RecordingSnapshots()
    async with DelegationContext(snapshots=snapshots).run_scope(depth=depth):
        assert len(snapshots.held) == slots
    assert snapshots.held == ()
    assert len(snapshots.opened) == slots


@pytest.mark.parametrize("error", [LookupError("own"), asyncio.CancelledError()], ids=["error", "cancellation"])
async def test_a_slot_is_given_back_whatever_the_body_did(error: BaseException) -> None:
    snapshots = RecordingSnapshots()
    with pytest.raises(type(error)) as caught:
        async with DelegationContext(snapshots=snapshots).run_scope(depth=1):
            raise error
    assert caught.value is error
    assert snapshots.held == ()


class SourSnapshots(RecordingSnapshots):
    def close(self, token: int) -> None:
        raise OSError("the slot is stuck")


async def test_a_slot_that_cannot_be_given_back_does_not_mask_the_body_s_own_error() -> None:
    with pytest.raises(LookupError) as caught:
        async with DelegationContext(snapshots=SourSnapshots()).run_scope(depth=1):
            raise LookupError("own")
    assert "OSError" in caught.value.__notes__[0]


async def test_a_slot_that_cannot_be_given_back_is_told_after_a_good_body() -> None:
    context = DelegationContext(snapshots=SourSnapshots())
    with pytest.raises(OSError, match="stuck"):
        async with context.run_scope(depth=1):
            pass
    assert context.current_depth() == 0


async def streamed(
    context: DelegationContext, runs: list[ActiveRun], *, fails: bool = False
) -> AsyncGenerator[int, None]:
    async with context.run_scope(depth=1) as run:
        runs.append(run)
        context.record_delegation("a")
        yield 1
        if fails:
            raise LookupError("own")
        yield 2


@pytest.fixture
async def loop_errors() -> AsyncIterator[list[dict[str, Any]]]:
    """What the loop had to log; must stay empty."""
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, facts: errors.append(facts))
    yield errors
    assert errors == []


async def close_elsewhere(stream: AsyncGenerator[int, None]) -> None:
    await asyncio.create_task(stream.aclose())


async def test_a_scope_closed_from_another_task_leaves_nothing_behind(loop_errors: list[dict[str, Any]]) -> None:
    context, runs, snapshots = DelegationContext(), list[ActiveRun](), RecordingSnapshots()
    context = DelegationContext(snapshots=snapshots)
    stream = streamed(context, runs)
    assert await anext(stream) == 1
    await close_elsewhere(stream)
    assert (context.current_depth(), context.current_run()) == (0, None)
    assert runs[0].delegated_to == ("a",)
    assert snapshots.held == ()


async def test_a_scope_that_is_collected_leaves_nothing_behind(loop_errors: list[dict[str, Any]]) -> None:
    context, runs = DelegationContext(), list[ActiveRun]()
    stream = streamed(context, runs)
    assert await anext(stream) == 1
    del stream
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert (context.current_depth(), context.current_run()) == (0, None)
    assert runs[0].delegated_to == ("a",)


async def test_ten_scopes_closed_elsewhere_at_once_leave_nothing_behind(loop_errors: list[dict[str, Any]]) -> None:
    context, runs = DelegationContext(), list[ActiveRun]()
    streams = [streamed(context, runs) for _ in range(10)]
    assert [await anext(stream) for stream in streams] == [1] * 10
    await asyncio.gather(*(close_elsewhere(stream) for stream in streams))
    assert context.current_depth() == 0
    assert [run.delegated_to for run in runs] == [("a",)] * 10


async def test_a_scope_that_ends_elsewhere_does_not_mask_the_body_s_own_error() -> None:
    context = DelegationContext()
    stream = streamed(context, [], fails=True)
    await anext(stream)
    with pytest.raises(LookupError, match="own"):
        await asyncio.create_task(anext(stream))
    assert context.current_depth() == 0


async def test_runs_side_by_side_do_not_see_each_other() -> None:
    context = DelegationContext()

    async def one(depth: int) -> tuple[int, tuple[str, ...]]:
        async with context.run_scope(depth=depth):
            await asyncio.sleep(0)
            context.record_delegation(f"c{depth}")
            await asyncio.sleep(0)
            return context.current_depth(), context.delegated_to()

    seen = await asyncio.gather(*(one(depth) for depth in range(10)))
    assert seen == [(depth, (f"c{depth}",)) for depth in range(10)]
