"""A provider that refuses for now is left alone by all of a process, and then asked by one after the other."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.admission import staggered
from symfonic_ray.kernel.rate_limits import MOST_SECONDS, SPACING_SECONDS, RateLimits, rate_key, retry_after


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.4", 0.4),
        ("0", 0.0),
        ("-7", 0.0),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("3600", 3600.0),
        (None, 1.0),
        ("", 1.0),
        ("soon", 1.0),
        ("nan", 1.0),
        ("inf", 1.0),
        ("1e400", 1.0),
    ],
)
def test_retry_after_is_a_number_or_a_date_or_a_second(header: str | None, seconds: float) -> None:
    assert retry_after(header, now=1000.0) == seconds


def test_a_key_gives_neither_address_nor_secret_away_and_is_one_to_one() -> None:
    keys = {rate_key("http://a", "sk-1"), rate_key("http://a", "sk-2"), rate_key("http://a sk-1", ""), rate_key("a")}
    assert len(keys) == 4
    assert all(len(key) == 16 and "sk" not in key for key in keys)


def test_a_pause_is_never_shortened_and_ends_by_itself() -> None:
    clock = Clock()
    limits = RateLimits(clock=clock, chance=lambda: 0.0)
    told: list[tuple[str, float]] = []
    end = limits.tell(lambda key, seconds: told.append((key, seconds)))
    limits.report("k", 10.0)
    limits.report("k", 3.0)  # others are refused meanwhile: no news
    assert (limits.left("k"), limits.left("other"), told) == (10.0, 0.0, [("k", 10.0)])
    clock.now += 4
    limits.report("k", 8.0)
    assert (limits.paused(), told[1:]) == ({"k": 8.0}, [("k", 8.0)])
    end()
    clock.now += 8
    assert limits.paused() == {}
    limits.report("k", 1.0)
    assert len(told) == 2


@pytest.mark.parametrize("seconds", [0.0, -1.0, MOST_SECONDS + 1, float("nan")])
def test_what_is_no_wait_or_too_long_a_one_pauses_nobody(seconds: float) -> None:
    limits = RateLimits(chance=lambda: 0.0)
    assert not limits.pause("k", seconds)
    assert limits.paused() == {}


async def test_who_waited_leaves_one_by_one_and_who_comes_later_goes_at_once() -> None:
    limits = RateLimits(chance=lambda: 0.0)
    loop = asyncio.get_running_loop()
    assert await limits.wait("k") == 0.0
    began = loop.time()
    limits.pause("k", 0.2)
    left: list[float] = []

    async def caller() -> None:
        await limits.wait("k")
        left.append(loop.time() - began)

    await asyncio.gather(*(caller() for _ in range(4)))
    assert left[0] >= 0.2
    assert all(later - earlier >= SPACING_SECONDS * 0.8 for earlier, later in itertools.pairwise(left))
    assert await limits.wait("k") == 0.0


async def test_a_pause_that_grows_holds_those_that_wait_already_and_a_deadline_ends_the_wait() -> None:
    limits = RateLimits(chance=lambda: 0.0)
    limits.pause("k", 0.1)
    waiting = asyncio.create_task(limits.wait("k"))
    await asyncio.sleep(0.02)
    limits.pause("k", 0.3)
    assert await waiting >= 0.25
    limits.pause("k", 30.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await limits.wait("k")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.floats(0.1, 60))
def test_hosts_come_back_one_after_the_other_the_scopes_in_turns(sizes: list[int], seconds: float) -> None:
    hosts = {f"s{n}": [(n, k) for k in range(size)] for n, size in enumerate(sizes)}
    waits = staggered(hosts, seconds)
    assert sorted(host for host, _ in waits) == sorted(host for one in hosts.values() for host in one)
    assert [wait for _, wait in waits] == sorted({wait for _, wait in waits})
    assert not waits or waits[0][1] == seconds
    assert [host[1] for host, _ in waits] == sorted(host[1] for host, _ in waits)  # nobody's second before all firsts
