"""How a child's factory reaches its host: as an import string, or pickled once. Sends nothing itself.

What cannot be pickled is found when the child is declared to a pool, not at its first call, and the error leads to
the member that is in the way.
"""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from symfonic_ray.kernel.text import failure_line

SEARCH_DEPTH = 6  # members of members; deeper chains are named by the deepest one seen


class UnshippableError(TypeError):
    """Something that cannot cross to another process, with the path to the member that cannot."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(path, cause)
        self.path, self.cause = path, cause

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be sent to another process ({self.cause}); make it inside the build function, "
            'or name the build by an import string such as "package.module:build"'
        )


def shipped(thing: Any, what: str) -> bytes | str:
    """``thing`` in the form that crosses: an import string as it is, anything else pickled.

    Raises:
        UnshippableError: with the path from ``what`` to the member that cannot be pickled.
    """
    if isinstance(thing, str):
        return thing
    try:
        return _dumped(thing)
    except Exception as error:  # pickling runs foreign __reduce__ methods: anything may come
        path, cause = _culprit(thing, what, error)
        raise UnshippableError(path, cause) from None


def unshipped(parcel: bytes | str) -> Any:
    """What ``shipped`` was given, or what its import string names; whatever loading raises comes through."""
    if isinstance(parcel, bytes):
        return pickle.loads(parcel)
    module_name, _, attribute = parcel.partition(":")
    found: Any = import_module(module_name)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def _dumped(thing: Any) -> bytes:
    from ray import cloudpickle  # Ray's own copy; a process that only unpickles needs no Ray

    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps(thing)


def _culprit(thing: Any, path: str, error: BaseException) -> tuple[str, str]:
    """The deepest unpicklable member below ``thing``, by trying one member after another."""
    seen: set[int] = set()
    for _ in range(SEARCH_DEPTH):
        seen.add(id(thing))
        for step, member in _members(thing):
            if id(member) in seen:
                continue
            failure = _refusal(member)
            if failure is not None:
                thing, path, error = member, path + step, failure
                break
        else:
            break
    return path, failure_line(error)


def _refusal(member: Any) -> BaseException | None:
    try:
        _dumped(member)
    except Exception as error:
        return error
    return None


def _members(thing: Any) -> Iterator[tuple[str, Any]]:
    """Parts of ``thing`` that pickling would visit, each with its step of the path."""
    if isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
    if isinstance(thing, types.FunctionType):
        names = thing.__code__.co_freevars
        for name, cell in zip(names, thing.__closure__ or (), strict=True):
            try:
                yield f" -> variable {name!r}", cell.cell_contents
            except ValueError:  # a variable that was never assigned
                continue
        for name in thing.__code__.co_names:
            if name in thing.__globals__ and not isinstance(thing.__globals__[name], types.ModuleType):
                yield f" -> global {name!r}", thing.__globals__[name]
        for position, default in enumerate(thing.__defaults__ or ()):
            yield f" -> default {position}", default
        for name, default in (thing.__kwdefaults__ or {}).items():
            yield f" -> default {name!r}", default
    if isinstance(thing, dict):
        for key, value in thing.items():
            yield f"[{key!r}]", value
    elif isinstance(thing, list | tuple | set | frozenset):
        for position, value in enumerate(thing):
            yield f"[{position}]", value
    for name in ("func", "args", "keywords"):  # functools.partial keeps its parts in slots
        if hasattr(type(thing), name) and not isinstance(thing, type):
            yield f".{name}", getattr(thing, name)
    if not isinstance(thing, types.FunctionType):
        for name, value in getattr(thing, "__dict__", {}).items():
            yield f".{name}", value
