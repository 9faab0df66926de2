"""Which tools a LangChain runnable or a LangGraph graph offers to models. Reads structure; runs and imports nothing.

What a node keeps in a closure cannot be read from outside, save what LangChain itself finds there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from symfonic_ray.delegation.lockdown import palette_names

MAX_PARTS = 10_000  # of one runnable; a graph that is larger is cyclic in a way that no identity shows
_INNER = ("bound", "runnable", "default", "mapper", "agent", "last")
_INNERS = ("steps", "fallbacks", "branches", "middle", "deps")


def langchain_palette(runnable: Any) -> tuple[str, ...]:
    """The names of all tools in ``runnable`` and its parts, each once."""
    return tuple(dict.fromkeys(name for part in _parts(runnable) for name in _names(part)))


def _names(part: Any) -> Iterator[str]:
    kwargs = _read(part, "kwargs")
    bound = kwargs.get("tools") if isinstance(kwargs, Mapping) else None
    for tools in (_read(part, "tools_by_name"), _read(part, "tools"), bound):
        yield from palette_names(SimpleNamespace(tools=tools))


def _parts(runnable: Any) -> Iterator[Any]:
    waiting, seen = [runnable], {id(runnable)}
    while waiting and len(seen) < MAX_PARTS:
        part = waiting.pop()
        yield part
        for inner in _inner(part):
            if inner is not None and not isinstance(inner, (str, bytes, int, float)) and id(inner) not in seen:
                seen.add(id(inner))
                waiting.append(inner)


def _inner(part: Any) -> Iterator[Any]:
    for name in _INNER:
        yield _read(part, name)
    for name in ("nodes", "steps__"):
        held = _read(part, name)
        if isinstance(held, Mapping):
            yield from held.values()
    for name in _INNERS:
        held = _read(part, name)
        if isinstance(held, Iterable) and not isinstance(held, (str, bytes, Mapping)):
            for item in held:
                yield from item if isinstance(item, tuple) else (item,)


def _read(part: Any, name: str) -> Any:
    try:
        return getattr(part, name, None)
    except Exception:
        return None
