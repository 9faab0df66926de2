"""Configs as plain dicts. Knows no framework's config type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PlainInheritance:
    """A ``ConfigInheritance`` over mappings: the parent's entries with the overrides on top."""

    def inherit(self, parent_config: Mapping[str, Any] | None, **overrides: Any) -> dict[str, Any]:
        """A new dict; the parent's mapping is left as it is."""
        return dict(parent_config or {}) | overrides
