"""What runs on a cluster that nobody may own any more. A program: joins, looks, prints JSON, leaves.

A process of its own, since joining cannot be called off and leaves traces in the process that does it.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import ray
import ray._private.state
from ray._private.state import GlobalState
from ray.util import list_named_actors


def detached_actors(address: str) -> list[dict[str, str]]:
    """Actors of a cluster that outlive whoever made them: name, namespace and class of each.

    Args:
        address: as ``ray.init`` takes it.
    """
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        state: GlobalState = ray._private.state.state
        rows: dict[str, dict[str, Any]] = state.actor_table(None)
        places = {named["name"]: named["namespace"] for named in list_named_actors(all_namespaces=True)}
        return [
            {
                "name": str(row.get("Name", "")),
                "namespace": places.get(row.get("Name"), ""),
                "class": str(row.get("ActorClassName", "")),
            }
            for row in rows.values()
            if row.get("IsDetached") and row.get("State") != "DEAD"
        ]
    finally:
        ray.shutdown()


if __name__ == "__main__":
    try:
        print(json.dumps({"detached": detached_actors(sys.argv[1])}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:2000]}"}), flush=True)
        sys.exit(1)
