"""Whose cancellation it is (case D10): the parent's own leaves without a record, a child's is a record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from symfonic_ray.delegation import (
    DelegationContext,
    DelegationOutcome,
    DelegationRecord,
    DelegationRoster,
    DelegationTools,
    DepthPolicy,
    RosterEntry,
)
from symfonic_ray.testing import FailingRunner


class Child:
    """Runs one function and counts its runs."""

    def __init__(self, body: Callable[[], Awaitable[Any]]) -> None:
        self.body, self.runs = body, 0
        self.started = asyncio.Event()

    async def run(self, query: str) -> Any:
        self.runs += 1
        self.started.set()
        return await self.body()


def tools_over(runner: Any) -> DelegationTools:
    roster = DelegationRoster([RosterEntry(name="a", description="d", runner=runner)])
    return DelegationTools(roster=roster, depth=DepthPolicy(3))


async def forever() -> None:
    await asyncio.Event().wait()


async def renamed() -> None:
    """What a border that does not know better makes of a cancellation."""
    try:
        await forever()
    except asyncio.CancelledError:
        raise RuntimeError("TaskCancelledError") from None


async def swallowed() -> str:
    try:
        await forever()
    except asyncio.CancelledError:
        return "as if nothing had happened"
    return ""


@pytest.mark.parametrize("body", [forever, renamed, swallowed], ids=lambda body: body.__name__)
async def test_the_parent_s_own_cancellation_leaves_without_a_record(body: Callable[[], Awaitable[Any]]) -> None:
    child, context = Child(body), DelegationContext()
    async with context.run_scope() as run:
        hand_off = asyncio.create_task(tools_over(child).delegate("a", "what"))
        await child.started.wait()
        hand_off.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hand_off
    assert child.runs == 1
    assert run.delegated_to == ()
    assert context.current_depth() == 0


async def test_a_parent_s_time_limit_leaves_as_its_time_limit() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await tools_over(Child(renamed)).delegate("a", "what")


async def test_a_child_that_cancels_itself_has_failed_and_is_not_tried_again() -> None:
    runner, context = FailingRunner(asyncio.CancelledError()), DelegationContext()
    async with context.run_scope(depth=1) as run:
        record = await tools_over(runner).delegate("a", "what")
        assert context.current_depth() == 1
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "cancelled")
    assert "cancelled" in record.message
    assert runner.runs == 1
    assert run.delegated_to == ()


async def test_a_failure_during_a_clean_up_after_a_cancellation_is_still_a_record() -> None:
    records: list[DelegationRecord] = []
    waiting = asyncio.Event()

    async def parent() -> None:
        try:
            waiting.set()
            await forever()
        finally:
            records.append(await tools_over(FailingRunner(ValueError("no luck"))).delegate("a", "say goodbye"))

    task = asyncio.create_task(parent())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record.reason for record in records] == ["exception"]
