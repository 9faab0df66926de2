"""The public fakes keep what they promise: a fake that lies makes every test over it a lie."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from symfonic_ray.delegation import DelegationOutcome, current_fleet
from symfonic_ray.testing import FailingRunner, FakeFleet, PlainInheritance, RecordingRunner, RecordingSnapshots


async def echo(task: str) -> str:
    """Says it again."""
    return task


async def fail(task: str) -> str:
    raise ValueError("no luck")


async def test_a_recording_runner_answers_in_turn_and_then_repeats_the_last() -> None:
    runner = RecordingRunner("one", "two")
    assert [await runner.run("t") for _ in range(3)] == ["one", "two", "two"]
    assert len(runner.calls) == 3
    assert await RecordingRunner().run("t") == "done"


async def test_a_failing_runner_raises_what_it_was_given() -> None:
    runner = FailingRunner(ValueError("no luck"))
    with pytest.raises(ValueError, match="no luck"):
        await runner.run("t")
    assert runner.runs == 1


def test_plain_inheritance_leaves_the_parent_as_it_is() -> None:
    parent = {"model": "m", "temperature": 1}
    assert PlainInheritance().inherit(parent, temperature=0) == {"model": "m", "temperature": 0}
    assert parent == {"model": "m", "temperature": 1}


def test_snapshots_tell_which_slots_are_held() -> None:
    snapshots = RecordingSnapshots()
    first, second = snapshots.open(), snapshots.open()
    snapshots.close(first)
    assert snapshots.held == (second,)


async def test_a_fake_fleet_gives_real_records() -> None:
    fleet = FakeFleet({"echo": echo, "fail": fail})
    answered = await fleet.delegate("echo", {"page": 1})
    assert (answered.outcome, answered.message, answered.depth) == (DelegationOutcome.DELIVERED, '{"page": 1}', 1)
    assert answered.run_id == answered.root_run_id != ""
    assert (await fleet.delegate("fail", "t")).reason == "exception"
    assert (await fleet.delegate("ghost", "t")).outcome is DelegationOutcome.UNKNOWN_CHILD
    assert [record.name for record in fleet.records] == ["echo", "fail", "ghost"]
    assert "echo: Says it again." in fleet.delegation.roster.describe()


async def test_a_child_of_a_fake_fleet_delegates_further_with_lineage_up_to_the_ceiling() -> None:
    async def again(task: str) -> str:
        return (await current_fleet().delegate("again", task)).message

    fleet = FakeFleet({"again": again}, max_depth=2)
    await fleet.delegate("again", "go")
    refused, below, top = fleet.records
    assert (refused.outcome, below.depth, top.depth) == (DelegationOutcome.REFUSED_DEPTH, 2, 1)
    assert (below.root_run_id, below.parent_run_id) == (top.run_id, top.run_id)
    with pytest.raises(LookupError):
        current_fleet()


async def test_a_fake_fleet_s_time_limit_is_a_record() -> None:
    async def hang(task: str) -> str:
        await asyncio.Event().wait()
        return ""

    record = await FakeFleet({"hang": hang}).delegate("hang", "t", timeout_seconds=0.01)
    assert (record.outcome, record.reason, record.depth) == (DelegationOutcome.CHILD_FAILED, "timeout", 1)
    assert "0.01 seconds" in record.message


async def sleepy(task: str) -> str:
    await asyncio.sleep(float(task))
    return task


TASKS = [("sleepy", "0.03"), ("sleepy", "0.02"), ("sleepy", "0")]


async def test_a_fan_out_yields_in_finish_order_or_in_task_order() -> None:
    fleet = FakeFleet({"sleepy": sleepy})
    assert [record.message async for record in fleet.fan_out(TASKS)] == ["0", "0.02", "0.03"]
    assert [record.message async for record in fleet.fan_out(TASKS, ordered=True)] == ["0.03", "0.02", "0"]


async def test_a_fan_out_keeps_to_its_bound_and_takes_async_tasks() -> None:
    running = peak = 0

    async def counted(task: str) -> str:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return task

    async def tasks() -> AsyncIterator[tuple[str, str]]:
        for n in range(20):
            yield "counted", str(n)

    fleet = FakeFleet({"counted": counted})
    messages = [record.message async for record in fleet.fan_out(tasks(), in_flight=3)]
    assert sorted(messages, key=int) == [str(n) for n in range(20)]
    assert peak == 3


async def test_a_fan_out_that_is_left_early_cancels_what_runs() -> None:
    started: list[str] = []
    ended: list[str] = []

    async def slow(task: str) -> str:
        started.append(task)
        if task != "0":
            await asyncio.Event().wait()
        ended.append(task)
        return task

    stream = FakeFleet({"slow": slow}).fan_out([("slow", str(n)) for n in range(10)], in_flight=3)
    assert (await anext(stream)).message == "0"
    await stream.aclose()
    assert (sorted(started), ended) == (["0", "1", "2"], ["0"])


async def test_a_fan_out_with_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="in_flight"):
        await anext(FakeFleet({"echo": echo}).fan_out([], in_flight=0))
