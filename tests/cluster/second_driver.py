"""Another driver on the same cluster, as a program: opens a pool of the same name and scope, and says what it met."""

from __future__ import annotations

import asyncio
import json
import sys

from symfonic_ray.cluster import Cluster
from tests.cluster.conftest import child


async def main(address: str, pool_name: str) -> None:
    """Print the answers of this driver's own child as JSON."""
    async with (
        Cluster.connect(address) as cluster,
        cluster.pool([child("memo")], name=pool_name) as pool,
        pool.scope("acme") as fleet,
    ):
        first = await fleet.delegate("memo", "k")
        await fleet.delegate("memo", "k=theirs")
        second = await fleet.delegate("memo", "k")
    print(json.dumps([first.message, second.message, first.generation, first.fresh]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
