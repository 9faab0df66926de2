"""What belongs to the run in flight: set for a block, left by anybody, never wider than what was there."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import AsyncIterator

import pytest

from symfonic_ray.kernel import (
    Ambient,
    CapabilityContribution,
    Deadline,
    RunIdentity,
    current_deadline,
    current_run_identity,
    deadline,
    new_root,
    new_run_id,
    run_identity,
    seconds_for_child,
)

BOX: Ambient[str] = Ambient("box_of_the_test")


def test_blocks_nest_and_give_back_what_was_there() -> None:
    assert BOX.current() is None
    with BOX.holding("outer"):
        with BOX.holding("inner"):
            assert BOX.current() == "inner"
        assert BOX.current() == "outer"
    assert BOX.current() is None


async def held() -> AsyncIterator[str]:
    with BOX.holding("stream"):
        yield "first"
        yield "second"


async def test_a_block_left_by_another_task_or_collected_leaves_nothing_behind() -> None:
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    stream = held()
    await anext(stream)
    assert BOX.current() == "stream"
    await asyncio.create_task(stream.aclose())  # type: ignore[attr-defined]  # an async generator has one
    assert BOX.current() is None
    other = held()
    await anext(other)
    del other
    gc.collect()
    await asyncio.sleep(0.01)
    assert BOX.current() is None
    assert errors == []


async def test_tasks_side_by_side_do_not_see_each_other() -> None:
    async def one(value: str) -> str | None:
        with BOX.holding(value):
            await asyncio.sleep(0.001)
            return BOX.current()

    assert await asyncio.gather(*(one(str(n)) for n in range(20))) == [str(n) for n in range(20)]


def test_an_identity_is_current_for_its_block() -> None:
    identity = RunIdentity("r1", "r0", "rp")
    assert current_run_identity() is None
    with run_identity(identity):
        assert current_run_identity() is identity
    assert current_run_identity() is None


def test_a_root_is_its_own_root_and_ids_are_not_repeated() -> None:
    root = new_root()
    assert (root.run_id, root.parent_run_id) == (root.root_run_id, None)
    assert len({new_run_id() for _ in range(1000)}) == 1000


def test_a_deadline_is_arithmetic_on_the_clock_that_it_is_given() -> None:
    limit = Deadline.after(5.0, now=100.0)
    assert limit.remaining(now=103.0) == 2.0
    assert limit.remaining(now=106.0) == 0.0
    assert Deadline.after(None, now=100.0).remaining(now=1e9) == math.inf


def test_an_inner_deadline_narrows_and_never_widens() -> None:
    with deadline(Deadline(10.0)):
        with deadline(Deadline(20.0)):
            assert current_deadline() == Deadline(10.0)
        with deadline(Deadline(5.0)):
            assert current_deadline() == Deadline(5.0)
        assert current_deadline() == Deadline(10.0)
    assert current_deadline() is None


@pytest.mark.parametrize(
    ("remaining", "given"),
    [(100.0, 90.0), (10.0, 9.0), (4.0, 3.0), (2.0, 1.0), (1.0, 0.5), (0.0, 0.0), (math.inf, math.inf)],
)
def test_a_parent_keeps_a_reserve_but_a_child_always_gets_a_turn(remaining: float, given: float) -> None:
    assert seconds_for_child(remaining, reserve_fraction=0.1, reserve_seconds=1.0) == pytest.approx(given)


def test_a_contribution_holds_tools_and_no_grants() -> None:
    offered = CapabilityContribution("delegation", ("tool",))
    assert (offered.capability, offered.tools) == ("delegation", ("tool",))
    assert not hasattr(offered, "grants")
