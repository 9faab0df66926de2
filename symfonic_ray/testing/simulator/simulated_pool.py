"""A pool whose processes are simulated. Everything else of it is the real pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.scoped_pool import ScopedPool
from symfonic_ray.delegation.declarations import ChildDeclaration
from symfonic_ray.testing.simulator.transport import Handle, Network


class SimulatedPool(ScopedPool):
    """The real pool over a simulated network."""

    def __init__(
        self,
        network: Network,
        children: Iterable[ChildDeclaration],
        *,
        placements: Mapping[str, Placement],
        limits: PoolLimits,
        run_limits: RunLimits,
        max_depth: int,
    ) -> None:
        self._network = network
        super().__init__(
            children,
            max_depth=max_depth,
            placements=placements,
            limits=limits,
            run_limits=run_limits,
            parent_config=None,
            parent_provider=None,
            name="simulated",
        )

    def _start_controller(self) -> Any:
        controller: Handle = self._network.start_controller()
        return controller
