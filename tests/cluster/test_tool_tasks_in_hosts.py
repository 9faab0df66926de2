"""Tool tasks of a child: it calls them from its host as a parent does from the driver."""

from __future__ import annotations

import json
import os
from pathlib import Path

from symfonic_ray.delegation import ScopedChild
from tests.cluster import tool_bodies
from tests.cluster.conftest import PoolMaker
from tests.cluster.tool_bodies import lines


async def test_d20_a_tool_that_ends_its_process_leaves_the_child_that_called_it_alive(
    open_pool: PoolMaker, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    child = ScopedChild(name="tool_user", description="uses tools", build=tool_bodies.tool_user)
    pool = await open_pool(child)
    hosts = set()
    async with pool.scope("acme") as fleet:
        for _ in range(2):
            record = await fleet.delegate("tool_user", str(notes), timeout_seconds=60)
            assert record.outcome.delivered, record
            host, alone, died, shared = json.loads(record.message)
            hosts.add(host)
            assert len({os.getpid(), host, alone}) == len({os.getpid(), host, shared}) == 3
            assert died == "worker_died"
    assert len(hosts) == 1
    assert lines(notes) == ["died", "died"]
