"""What a tree of runs may spend, across real processes: exactly so much, and the root still gets an answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from symfonic_ray.cluster import Placement, RunLimits
from symfonic_ray.delegation import DelegationOutcome, PrebuiltChild
from symfonic_ray.kernel import new_root
from tests.cluster.conftest import PoolMaker

BOMB = Placement(delegates_to=("bomb",), concurrency=64)


def started(file: Path) -> Counter[int]:
    """How many runs started, by depth."""
    return Counter(int(line) for line in file.read_text().split())


async def test_a_recursion_bomb_ends_by_itself_at_exactly_the_limit_and_its_root_answers(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    file = tmp_path / "runs"
    pool = await open_pool("bomb", max_depth=10, placements={"bomb": BOMB}, run_limits=RunLimits(max_delegations=256))
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("bomb", str(file), timeout_seconds=120)
    assert record.outcome is DelegationOutcome.DELIVERED, record.message
    below = started(file)
    assert below.pop(1) == 1
    assert below.total() == 256
    assert max(below) <= 10
    assert json.loads(record.message)["budget"] > 0


async def test_trees_side_by_side_each_have_their_own_limit(open_pool: PoolMaker, tmp_path: Path) -> None:
    file = tmp_path / "runs"
    pool = await open_pool("bomb", max_depth=10, placements={"bomb": BOMB}, run_limits=RunLimits(max_delegations=12))
    async with pool.scope("acme") as fleet:
        async for record in fleet.fan_out([("bomb", str(file))] * 3):
            assert record.outcome is DelegationOutcome.DELIVERED, record.message
    below = started(file)
    assert (below.pop(1), below.total()) == (3, 36)


async def test_a_driver_that_holds_a_run_is_counted_as_the_root_of_all_it_hands_on(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", run_limits=RunLimits(max_delegations=5))
    async with pool.scope("acme") as fleet:
        identity = new_root()
        async with fleet.delegation.run_scope(depth=0, identity=identity):
            records = [record async for record in fleet.fan_out([("echo", "hi")] * 8)]
        outcomes = Counter(record.outcome for record in records)
        assert outcomes == {DelegationOutcome.DELIVERED: 5, DelegationOutcome.REFUSED_BUDGET: 3}
        refused = next(record for record in records if not record.outcome.delivered)
        assert (refused.reason, refused.root_run_id) == ("budget", identity.run_id)
        assert "max_delegations" in refused.message
        free = [record async for record in fleet.fan_out([("echo", "hi")] * 8)]
        assert all(record.outcome.delivered for record in free)


@pytest.mark.parametrize("beside", [(), ("echo",)], ids=["no host at all", "beside hosted ones"])
async def test_a_child_in_the_callers_process_is_counted_too(open_pool: PoolMaker, beside: tuple[str, ...]) -> None:
    class Here:
        async def run(self, query: str) -> str:
            return query

    here = PrebuiltChild(name="here", description="runs here", agent=Here())
    pool = await open_pool(here, *beside, run_limits=RunLimits(max_delegations=2))
    async with pool.scope("acme") as fleet, fleet.delegation.run_scope(depth=0, identity=new_root()):
        reasons = [(await fleet.delegate("here", "hi")).reason for _ in range(3)]
    assert reasons == ["", "", "budget"]


async def test_a_run_cannot_put_its_children_into_another_tree(open_pool: PoolMaker) -> None:
    pool = await open_pool(
        "forger",
        "teller",
        placements={"forger": Placement(delegates_to=("teller",))},
        run_limits=RunLimits(max_delegations=2),
    )
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("forger", "")
    told = json.loads(record.message)
    assert told["roots"] == [record.run_id] * 2
    assert told["refused"] == ["budget"] * 2


async def test_a_tree_that_has_used_its_tokens_starts_nothing_more_in_any_process(open_pool: PoolMaker) -> None:
    placement = Placement(delegates_to=("spender",), concurrency=8)
    pool = await open_pool("spender", placements={"spender": placement}, run_limits=RunLimits(max_tokens=100))
    async with pool.scope("acme") as fleet:
        inner = [["spender", 40]] * 2
        record = await fleet.delegate("spender", json.dumps([["spender", inner], ["spender", 40], *inner, *inner]))
        assert json.loads(record.message) == ["", "", "budget", "budget", "budget", "budget"]
        spent = await fleet.spent(record.root_run_id)
        assert (spent.delegations, spent.tokens) == (4, 121)  # 2 * 40 and 1 of the inner run, 40 of the next
        assert (await fleet.delegate("spender", "1")).outcome.delivered  # a tree of its own


async def test_a_refusal_for_tokens_says_so_also_for_a_child_of_this_process(open_pool: PoolMaker) -> None:
    class Talker:
        async def run(self, query: str) -> dict[str, object]:
            return {"final_response": "well", "usage": {"input_tokens": 6, "output_tokens": 4}}

    talker = PrebuiltChild(name="talker", description="talks", agent=Talker())
    pool = await open_pool(talker, run_limits=RunLimits(max_tokens=15))
    async with pool.scope("acme") as fleet, fleet.delegation.run_scope(depth=0, identity=new_root()):
        records = [await fleet.delegate("talker", "x") for _ in range(4)]
        assert [record.reason for record in records] == ["", "", "budget", "budget"]
        assert "may use 15 tokens (max_tokens) and has used 20" in records[2].message
        assert records[2].outcome is DelegationOutcome.REFUSED_BUDGET
