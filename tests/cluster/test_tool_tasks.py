"""The dispatcher over Ray tasks: the parity suite that every dispatcher passes."""

from __future__ import annotations

import pytest

from symfonic_ray.cluster.tool_tasks import RayToolDispatcher
from tests.execution.dispatcher_parity import DispatcherParity


class TestRayToolDispatcher(DispatcherParity):
    """Calls that run as Ray tasks pass the suite that calls in this process pass."""

    @pytest.fixture
    def dispatcher(self, local_ray: None) -> RayToolDispatcher:
        return RayToolDispatcher()
