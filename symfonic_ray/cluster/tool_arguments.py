"""How the arguments of a call reach the process that runs it. Object references become what they refer to.

A reference that a tool gets unread is of no use to it, so none is passed on: those inside dicts, lists, tuples and sets
are resolved in the calling process; one hidden deeper, in an object of some class, is refused.
"""

from __future__ import annotations

import asyncio
import io
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import ray
from ray import cloudpickle

from symfonic_ray.kernel.text import failure_line

_CONTAINERS = (Mapping, list, tuple, set, frozenset)
REFERENCE_INSIDE = "they hold an object reference inside an object of a class; pass ray.get of it instead"


_PICKLER: Any = cloudpickle.CloudPickler  # it has no types


class _PlainPickler(pickle.Pickler):
    """Pickles JSON-like arguments at a tenth of cloudpickle's cost, and gives up on any other."""

    def reducer_override(self, thing: Any) -> Any:  # Any: pickle's own protocol
        """Called for everything that is not built in."""
        raise pickle.PicklingError(type(thing).__name__)


class ArgumentPickler(_PICKLER):  # type: ignore[misc]
    """Pickles one call's arguments, and refuses references: they would arrive unread."""

    def reducer_override(self, thing: Any) -> Any:  # Any: pickle's own protocol
        """Whatever cloudpickle does, but for a reference."""
        if isinstance(thing, ray.ObjectRef):
            raise pickle.PicklingError(REFERENCE_INSIDE)
        return super().reducer_override(thing)


def packed_arguments(args: Mapping[str, Any]) -> bytes:
    """The arguments as bytes.

    Raises:
        Exception: whatever pickling them raises.
    """
    buffer = io.BytesIO()
    try:
        _PlainPickler(buffer, protocol=5).dump(dict(args))
    except pickle.PicklingError:
        buffer = io.BytesIO()
        ArgumentPickler(buffer, protocol=5).dump(dict(args))
    return buffer.getvalue()


def references_in(args: Mapping[str, Any]) -> bool:
    """Whether a reference stands anywhere in plain containers of ``args``."""
    return any(isinstance(leaf, ray.ObjectRef) for leaf in _leaves(args, set()))


async def resolved(args: Mapping[str, Any]) -> dict[str, Any]:
    """``args`` with what each reference stands for; containers that held one are new.

    Raises:
        Exception: whatever the making of a referenced object raised, or Ray's word that it is lost.
    """
    found = list(dict.fromkeys(leaf for leaf in _leaves(args, set()) if isinstance(leaf, ray.ObjectRef)))
    values = dict(zip(found, await asyncio.gather(*map(_value_of, found)), strict=True))
    done: dict[int, Any] = {}
    return {name: _replaced(value, values, done) for name, value in args.items()}


def plain_words(error: BaseException) -> str:
    """What Ray raised, without the traceback that is its own text."""
    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
    return type(cause).__name__ if isinstance(cause, ray.exceptions.RayError) else failure_line(cause)


async def _value_of(reference: Any) -> Any:
    return await reference


def _leaves(thing: Any, seen: set[int]) -> Iterator[Any]:
    """What stands in containers of ``thing``; each container is entered once, however often it stands there."""
    if not isinstance(thing, _CONTAINERS):
        yield thing
    elif id(thing) not in seen:
        seen.add(id(thing))
        for item in thing.values() if isinstance(thing, Mapping) else thing:
            yield from _leaves(item, seen)


def _replaced(thing: Any, values: Mapping[Any, Any], done: dict[int, Any]) -> Any:
    """``thing`` with values for references; a container without any is handed back as it is."""
    if isinstance(thing, ray.ObjectRef):
        return values[thing]
    if not isinstance(thing, _CONTAINERS):
        return thing
    if id(thing) not in done:
        old = list(thing.values() if isinstance(thing, Mapping) else thing)
        new = [_replaced(item, values, done) for item in old]
        same = all(one is other for one, other in zip(old, new, strict=True))
        done[id(thing)] = thing if same else _like(thing, new)
    return done[id(thing)]


def _like(thing: Any, items: list[Any]) -> Any:
    if isinstance(thing, Mapping):
        return dict(zip(thing, items, strict=True))
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):  # a named tuple takes its items one by one
        return type(thing)(*items)
    return items if isinstance(thing, list) else type(thing)(items)
