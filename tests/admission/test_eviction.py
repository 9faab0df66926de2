"""Which idle scopes are closed: the least recently used, never one in use, no more than needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic_ray.admission import ScopeUse, to_evict

IDLE = ScopeUse(last_used=0.0, in_use=False)


def live(**last_used: float) -> dict[str, ScopeUse]:
    return {key: ScopeUse(last_used=at, in_use=False) for key, at in last_used.items()}


@pytest.mark.parametrize(
    ("most", "needed", "gone"),
    [
        (3, 0, ()),
        (3, 1, ("old",)),
        (2, 0, ("old",)),
        (2, 1, ("old", "mid")),
        (1, 1, ("old", "mid", "new")),
        (3, 9, ("old", "mid", "new")),
        (9, 6, ()),
    ],
)
def test_as_many_go_as_room_is_needed_the_least_recently_used_first(
    most: int, needed: int, gone: tuple[str, ...]
) -> None:
    scopes = live(mid=20.0, new=30.0, old=10.0)
    assert to_evict(scopes, most=most, idle_ttl_seconds=900.0, now=31.0, needed=needed) == gone


def test_one_in_use_is_never_chosen_however_old_or_crowded() -> None:
    scopes = {"held": ScopeUse(last_used=0.0, in_use=True), **live(idle=999.0)}
    assert to_evict(scopes, most=1, idle_ttl_seconds=10.0, now=1000.0, needed=5) == ("idle",)


def test_a_scope_idle_for_its_time_to_live_goes_though_there_is_room() -> None:
    scopes = live(expired=100.0, exactly=110.0, fresh=110.1)
    assert to_evict(scopes, most=64, idle_ttl_seconds=50.0, now=160.0) == ("expired", "exactly")


def test_expired_scopes_count_as_room() -> None:
    scopes = live(expired=0.0, fresh=99.0)
    assert to_evict(scopes, most=2, idle_ttl_seconds=50.0, now=100.0, needed=1) == ("expired",)


def test_equally_old_scopes_go_in_the_order_given() -> None:
    assert to_evict(live(b=1.0, a=1.0, c=1.0), most=1, idle_ttl_seconds=900.0, now=2.0) == ("b", "a")


def test_nothing_lives_and_nothing_goes() -> None:
    assert to_evict({}, most=1, idle_ttl_seconds=1.0, now=1.0, needed=3) == ()


@given(
    scopes=st.dictionaries(st.text(max_size=4), st.builds(ScopeUse, st.floats(0, 100), st.booleans())),
    most=st.integers(1, 10),
    needed=st.integers(0, 10),
    ttl=st.floats(1, 200),
)
def test_the_choice_is_idle_ordered_and_enough_where_it_can_be(
    scopes: dict[str, ScopeUse], most: int, needed: int, ttl: float
) -> None:
    gone = to_evict(scopes, most=most, idle_ttl_seconds=ttl, now=100.0, needed=needed)
    left = {key: use for key, use in scopes.items() if key not in gone}
    assert not any(scopes[key].in_use for key in gone)
    assert [scopes[key].last_used for key in gone] == sorted(scopes[key].last_used for key in gone)
    assert len(left) + needed <= most or all(use.in_use for use in left.values())
    assert all(use.in_use or 100.0 - use.last_used < ttl for use in left.values())
    needless = [key for key in gone if 100.0 - scopes[key].last_used < ttl]
    assert not needless or len(left) + needed + 1 > most
