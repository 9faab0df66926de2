"""The fleet of the run in flight."""

from __future__ import annotations

import asyncio

import pytest

from symfonic_ray.delegation import Fleet, current_fleet, serving
from symfonic_ray.testing import FakeFleet


async def echo(task: str) -> str:
    """Says it again."""
    return task


def test_outside_a_run_there_is_no_fleet_and_the_words_help() -> None:
    with pytest.raises(LookupError, match=r"pool\.scope"):
        current_fleet()


def test_a_fleet_is_current_while_it_serves() -> None:
    outer: Fleet = FakeFleet({"echo": echo})
    inner: Fleet = FakeFleet({"echo": echo})
    with serving(outer):
        with serving(inner):
            assert current_fleet() is inner
        assert current_fleet() is outer
    with pytest.raises(LookupError):
        current_fleet()


async def test_fleets_of_runs_side_by_side_do_not_mix() -> None:
    async def one(fleet: FakeFleet) -> bool:
        with serving(fleet):
            await asyncio.sleep(0)
            return current_fleet() is fleet

    assert all(await asyncio.gather(*(one(FakeFleet({"echo": echo})) for _ in range(5))))
