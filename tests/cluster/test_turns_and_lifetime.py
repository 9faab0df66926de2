"""Turns of an instance, its one task, and timers: pure asyncio, no Ray."""

from __future__ import annotations

import asyncio
import time

import pytest

from symfonic_ray.cluster.contained_tasks import ChildExitError, contain_exits
from symfonic_ray.cluster.deadline_timer import DeadlineTimer
from symfonic_ray.cluster.lifetime import LifetimeTask
from symfonic_ray.cluster.turns import Turns


async def run_in(turns: Turns, run_id: str, ancestors: tuple[str, ...], log: list[str], seconds: float = 0.01) -> None:
    async with turns.turn(run_id, ancestors):
        log.append(f"+{run_id}")
        await asyncio.sleep(seconds)
        log.append(f"-{run_id}")


async def test_turns_are_granted_one_after_another_in_the_order_of_asking() -> None:
    turns = Turns(1)
    log: list[str] = []
    await asyncio.gather(*(run_in(turns, f"r{n}", (), log) for n in range(4)))
    assert log == [mark for n in range(4) for mark in (f"+r{n}", f"-r{n}")]


async def test_as_many_turns_as_declared_are_held_at_once() -> None:
    turns = Turns(3)
    log: list[str] = []
    await asyncio.gather(*(run_in(turns, f"r{n}", (), log) for n in range(4)))
    assert log[:3] == ["+r0", "+r1", "+r2"]
    assert log[3].startswith("-")


async def test_a_run_from_further_down_its_own_tree_does_not_wait_for_itself() -> None:
    turns = Turns(1)
    log: list[str] = []
    async with turns.turn("root", ()):
        await asyncio.wait_for(run_in(turns, "below", ("root",), log), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in(turns, "stranger", ("other",), log), 0.05)
    assert log == ["+below", "-below"]
    await asyncio.wait_for(run_in(turns, "next", (), log), 1)


async def test_a_waiting_run_that_is_cancelled_costs_no_turn() -> None:
    turns = Turns(1)
    log: list[str] = []
    for _ in range(3):
        async with turns.turn("holder", ()):
            waiting = asyncio.create_task(run_in(turns, "gone", (), log))
            await asyncio.sleep(0.01)
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await asyncio.wait_for(run_in(turns, "next", (), log), 1)
    assert log == ["+next", "-next"]


async def test_a_turn_given_back_while_waiting_lets_two_trees_cross() -> None:
    one, other = Turns(1), Turns(1)

    async def tree(first: Turns, second: Turns, name: str) -> None:
        async with first.turn(name, ()) as turn:
            await asyncio.sleep(0.01)
            async with turn.given_back(), second.turn(f"{name}-child", (name,)):
                await asyncio.sleep(0.01)

    await asyncio.wait_for(asyncio.gather(tree(one, other, "a"), tree(other, one, "b")), 2)
    log: list[str] = []
    await asyncio.wait_for(asyncio.gather(run_in(one, "x", (), log), run_in(other, "y", (), log)), 1)


async def test_a_turn_cancelled_while_it_is_retaken_is_not_lost_or_doubled() -> None:
    turns = Turns(1)
    log: list[str] = []

    async def giver() -> None:
        async with turns.turn("giver", ()) as turn, turn.given_back():
            await asyncio.sleep(0.02)

    giving = asyncio.create_task(giver())
    await asyncio.sleep(0.01)
    taker = asyncio.create_task(run_in(turns, "taker", (), log, 0.1))
    await asyncio.sleep(0.04)  # the giver now waits to retake its turn
    giving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving
    await taker
    await asyncio.gather(run_in(turns, "a", (), log), run_in(turns, "b", (), log))
    assert log == ["+taker", "-taker", "+a", "-a", "+b", "-b"]


async def test_jobs_share_one_task() -> None:
    lifetime = LifetimeTask("child")

    async def who() -> object:
        return asyncio.current_task()

    first, second = await lifetime.do(who), await lifetime.do(who)
    assert first is second is not asyncio.current_task()
    await lifetime.end()


async def test_a_cancelled_job_ends_and_the_task_goes_on() -> None:
    lifetime = LifetimeTask("child")
    log: list[str] = []

    async def long() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            log.append("left")

    async def short() -> int:
        return 7

    running, queued = asyncio.create_task(lifetime.do(long)), asyncio.create_task(lifetime.do(long))
    await asyncio.sleep(0.01)
    queued.cancel()
    running.cancel()
    for task in (running, queued):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert log == ["left"]
    assert await lifetime.do(short) == 7
    await lifetime.end()


async def test_a_job_that_ignores_its_cancellation_is_seen_as_running() -> None:
    lifetime = LifetimeTask("child")

    async def stubborn() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(0.2)
        return "late"

    running = asyncio.create_task(lifetime.do(stubborn))
    await asyncio.sleep(0.01)
    running.cancel()
    done, _ = await asyncio.wait((running,), timeout=0.05)
    assert not done
    assert await running == "late"
    await lifetime.end()


async def test_a_job_that_exits_is_an_error_of_its_own() -> None:
    lifetime = LifetimeTask("child")

    async def leaves() -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit"):
        await lifetime.do(leaves)
    await lifetime.end()


async def test_one_timer_rings_for_many_in_the_order_of_their_time() -> None:
    timer = DeadlineTimer(asyncio.get_running_loop())
    rung: list[str] = []
    now = time.monotonic()
    timer.add(now + 0.09, lambda: rung.append("third"))
    timer.add(now + 0.03, lambda: rung.append("first"))
    timer.drop(timer.add(now + 0.02, lambda: rung.append("never")))
    timer.add(now + 0.06, lambda: rung.append("second"))
    await asyncio.sleep(0.15)
    assert rung == ["first", "second", "third"]


async def test_deadlines_that_were_dropped_do_not_pile_up() -> None:
    timer = DeadlineTimer(asyncio.get_running_loop())
    for _ in range(10_000):
        timer.drop(timer.add(time.monotonic() + 600, lambda: None))
    assert len(timer._heap) < 200


def test_an_exit_in_any_task_of_a_host_does_not_stop_its_loop() -> None:
    async def main() -> str:
        contain_exits(asyncio.get_running_loop())

        async def leaves() -> None:
            raise SystemExit(3)

        with pytest.raises(ChildExitError, match=r"SystemExit\(3\)"):
            await asyncio.create_task(leaves())
        return "the loop goes on"

    assert asyncio.run(main()) == "the loop goes on"
