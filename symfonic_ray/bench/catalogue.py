"""Which work items there are, by name and by the keys they give. Runs none."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from symfonic_ray.bench.fan_outs import fan_out
from symfonic_ray.bench.growing import growth
from symfonic_ray.bench.round_trips import round_trip, throughput_32, throughput_256
from symfonic_ray.bench.stage import Stage
from symfonic_ray.bench.tenants import cold_start, idle_tenant_memory

_TOOLS = "symfonic_ray.bench.tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One thing that is measured."""

    name: str
    """Chooses it, as each of its keys does."""
    keys: tuple[str, ...]
    """What it gives."""
    measure: Callable[[Stage], Awaitable[dict[str, Any]]]
    """Gives plain JSON data by key."""


async def _array(stage: Stage) -> dict[str, Any]:
    return {"array_10mb": {"not_built": "arrays do not travel with hand-offs in this version"}}


def catalogue() -> tuple[WorkItem, ...]:
    """Every work item, in the order in which they are run."""
    items = [
        WorkItem(name="round_trip", keys=("round_trip_1",), measure=round_trip),
        WorkItem(name="throughput", keys=("throughput_32",), measure=throughput_32),
        WorkItem(name="throughput", keys=("throughput_256", "cpu_per_item_256"), measure=throughput_256),
        *(_fan_out(kind, children) for children in (8, 2) for kind in ("echo", "sleep", "cpu")),
        WorkItem(name="cold_start", keys=("cold_start",), measure=cold_start),
        WorkItem(name="memory", keys=("idle_tenant_memory",), measure=idle_tenant_memory),
        WorkItem(name="growth", keys=("growth",), measure=growth),
        WorkItem(name="arrays", keys=("array_10mb",), measure=_array),
    ]
    if importlib.util.find_spec(_TOOLS) is not None:
        measure = importlib.import_module(_TOOLS).measure
        items.append(WorkItem(name="tools", keys=("tools_nothing", "tools_wait", "tools_cpu"), measure=measure))
    return tuple(items)


def _fan_out(kind: str, children: int) -> WorkItem:
    key = f"fan_out_{children}_{kind}"
    keys = (key,) if kind == "echo" else (key, f"{key}_vs_ideal")
    return WorkItem(name="fan_out", keys=keys, measure=fan_out(kind, children))


def chosen(names: Sequence[str], items: Sequence[WorkItem]) -> tuple[WorkItem, ...]:
    """The items that ``names`` mean; all of them for no names.

    Raises:
        ValueError: for a name that means none; says which there are.
    """
    for name in names:
        if not any(name == item.name or name in item.keys for item in items):
            known = sorted({word for item in items for word in (item.name, *item.keys)})
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"nothing is measured under the name {name!r}; {hint}there are {', '.join(known)}")
    return tuple(item for item in items if not names or set(names) & {item.name, *item.keys})
