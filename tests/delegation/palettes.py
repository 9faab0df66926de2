"""Agents with palettes, for the tests of the lockdown. Knows every place where a palette may stand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from symfonic_ray.testing import RecordingRunner


class NamedTool:
    """A tool as a framework would hold it."""

    def __init__(self, name: Any) -> None:
        self.name = name


class ToolsAgent(RecordingRunner):
    """Shows its palette as ``tools``."""

    def __init__(self, *names: Any) -> None:
        super().__init__()
        self.tools: list[Any] = [NamedTool(name) for name in names]


class PaletteAgent(RecordingRunner):
    """Shows its palette by a method."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._shown = names

    def palette(self) -> list[str]:
        return list(self._shown)


class GraphAgent(RecordingRunner):
    """Shows its palette through the registry of its graph."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        tools = [NamedTool(name) for name in names]
        self._graph = SimpleNamespace(registry=SimpleNamespace(all_tools=lambda: tools))


class Holder:
    """Wraps an agent on an attribute."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def run(self, query: str, **keywords: Any) -> Any:
        return await self._inner.run(query, **keywords)


class Mirage:
    """Answers every attribute with another mirage, as a lazy proxy does; nothing of it can be iterated."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Mirage()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return Mirage()
