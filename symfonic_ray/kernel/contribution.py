"""What a capability adds to a parent agent: tools, and nothing that widens what the parent may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CapabilityContribution:
    """Tools that one capability offers to the parent's model."""

    capability: str
    """The capability's name, such as ``delegation``."""
    tools: tuple[Any, ...] = ()
    """Tool specifications in the capability's own form; Any because each capability has its own."""
