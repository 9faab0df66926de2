"""One tool call between its admission and its outcome. A value that its batch changes; decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symfonic_ray.cluster.tool_route import Route
from symfonic_ray.execution import AdmittedCall


@dataclass(slots=True, eq=False)
class PendingCall:
    """A call that is not answered yet."""

    place: int
    """In its batch, from 0."""
    asked: AdmittedCall
    route: Route
    args: Any
    """The arguments; without references once the call is ready to go."""
    attempts: int = 0
    """How often it was started in processes that died."""
    ends_at: float | None = None
    """On the loop's clock, set at the first sending; None without a limit."""

    @property
    def name(self) -> str:
        """The tool's name, as the call has it."""
        return self.asked.call.name
