"""Ten thousand forged or foreign batches against one host: none reaches a child. The host's own object, without Ray."""

from __future__ import annotations

import asyncio
import hmac
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import ray._raylet

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.blueprint import HostBinding
from symfonic_ray.cluster.child_host import ChildHost
from symfonic_ray.cluster.envelope import (
    SEAL_BYTES,
    Address,
    EnvelopeError,
    HandOffRow,
    open_replies,
    seal_batch,
)
from symfonic_ray.cluster.plan import pool_plan
from symfonic_ray.delegation import ScopedChild

BATCHES = 10_000
SEED = 20261201
RAN: list[str] = []
ROW = HandOffRow("c", "task", 1, "r1", "r1", None, (), 30.0)


class Noted:
    """Notes every task that reaches it."""

    async def run(self, query: str) -> str:
        RAN.append(query)
        return query


@pytest.fixture(autouse=True)
def own_title() -> Iterator[None]:
    """A host names its process; this one is the test run's own."""
    raylet: Any = ray._raylet  # compiled: its names have no types
    title = raylet.getproctitle()
    yield
    raylet.setproctitle(title)


async def bound_host() -> tuple[ChildHost, bytes, Address]:
    """A host of scope ``acme`` in its third life, its pool's key and its address."""
    child = ScopedChild(name="noted", description="notes", build=lambda scope: Noted())
    plan = pool_plan(
        (child,),
        max_depth=3,
        placements={"noted": Placement(concurrency=8)},
        limits=PoolLimits(),
        run_limits=RunLimits(),
        parent_config=None,
        parent_provider=None,
        name="forged",
    )
    host = ChildHost()
    binding = HostBinding(
        plan=plan, scope="acme", scope_key="acme", group="noted", generation=3, rebuilt=False, controller=None
    )
    _, failures = await host.bind(binding)
    assert not failures
    return host, plan.key, Address("acme", "noted", 3)


def forged(chance: random.Random, key: bytes, here: Address, number: int) -> bytes:
    """A batch that this host must refuse."""
    row = replace(ROW, call_id=f"forged-{number}")
    good = seal_batch(here, [row], key=key)
    kind = chance.randrange(8)
    if kind == 0:
        return seal_batch(here, [row], key=chance.randbytes(32))
    if kind == 1:
        return seal_batch(
            replace(here, scope_key=chance.choice(("zeta", "ACME", "acme ", "", "acme/a"))), [row], key=key
        )
    if kind == 2:
        return seal_batch(replace(here, generation=chance.choice((1, 2, 4, 0))), [row], key=key)
    if kind == 3:
        return seal_batch(replace(here, child=chance.choice(("notes", "NOTED", "run_agent", ""))), [row], key=key)
    if kind == 4:
        place = chance.randrange(len(good))
        return good[:place] + bytes([good[place] ^ (1 << chance.randrange(8))]) + good[place + 1 :]
    if kind == 5:
        return good[: chance.randrange(len(good))]
    if kind == 6:
        lineage = chance.choice(
            (
                {"agent_depth": 4},
                {"agent_depth": 10**6},
                {"agent_depth": 0},
                {"agent_depth": -1},
                {"ancestors": ("r0",), "parent_run_id": "another", "root_run_id": "r0"},
                {"ancestors": ("r1",), "parent_run_id": "r1"},
                {"run_id": ""},
                {"run_id": "x" * 200},
                {"seconds_left": -1.0},
            )
        )
        return seal_batch(here, [replace(row, **lineage)], key=key)
    cells: list[Any] = json.loads(good[SEAL_BYTES:])
    first = cells[4][0]
    place = chance.randrange(9)
    wrong = {0: 7, 1: None, 2: "1", 3: 7, 4: None, 5: 7, 6: "r0", 7: "soon", 8: "here"}
    first[place] = wrong[place] if chance.random() < 0.8 else {"$ne": 1}
    if chance.random() < 0.2:
        first.append("extra")
    body = json.dumps(cells).encode()
    return hmac.digest(key, body, "sha256") + body


async def test_no_forged_or_foreign_batch_reaches_a_child() -> None:
    host, key, here = await bound_host()
    RAN.clear()
    chance = random.Random(SEED)
    reasons: Counter[str] = Counter()
    for number in range(BATCHES):
        batch = forged(chance, key, here, number)
        try:
            if number % 2:
                await host.run(batch)
            else:
                await host.accept("courier", batch)
        except EnvelopeError as refusal:
            reasons[refusal.reason] += 1
    assert sum(reasons.values()) == BATCHES
    assert RAN == []
    assert set(reasons) == {"scope_mismatch", "serialization", "depth"}


async def test_a_batch_that_was_served_is_not_served_again() -> None:
    host, key, here = await bound_host()
    RAN.clear()
    batch = seal_batch(here, [replace(ROW, call_id="once", task="mine")], key=key)
    replies = [open_replies(await host.run(batch), address=here)[0] for _ in range(50)]
    assert RAN == ["mine"]
    assert [reply.reason for reply in replies] == ["", *["scope_mismatch"] * 49]
    await asyncio.sleep(0)
