"""What counts as readable arguments. Strict: nothing is repaired, nothing is replaced. Knows no tool and no schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from typing import Any, NoReturn

LEVELS = 64  # spec/trust.md, tool arguments


class UnreadableArgumentsError(ValueError):
    """Arguments that no tool may be run with: says what is wrong with them."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the arguments {self.problem}; send one JSON object with the tool's arguments"


def read_arguments(args: Any) -> Mapping[str, Any]:
    """The arguments as a mapping.

    Args:
        args: a mapping, taken as it is; text, parsed as one JSON object; None or blank text, which stand for a call
            with no arguments. Any: a foreign model writes it.
    Returns:
        The mapping; values are not checked against the tool's schema.
    Raises:
        UnreadableArgumentsError: for malformed or truncated text, a repeated key, NaN, Infinity, a number out of
            range, anything but an object, or more than 64 levels.
    """
    if args is None or (isinstance(args, str) and not args.strip()):
        return {}
    read = _parsed(args) if isinstance(args, str) else args
    if not isinstance(read, Mapping):
        raise UnreadableArgumentsError(f"are of type {type(read).__name__}, not an object")
    if _is_deeper_than(read, LEVELS):
        raise UnreadableArgumentsError(f"are nested over {LEVELS} levels deep")
    return read


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_refuse_constant, parse_float=_finite)
    except UnreadableArgumentsError:
        raise
    except RecursionError:
        raise UnreadableArgumentsError(f"are nested over {LEVELS} levels deep") from None
    except ValueError as error:
        raise UnreadableArgumentsError(f"are not valid JSON ({error})") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise UnreadableArgumentsError(f"give the key {name[:64]!r} more than once")
        read[name] = value
    return read


def _refuse_constant(word: str) -> NoReturn:
    raise UnreadableArgumentsError(f"hold {word}, which is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):  # 1e999 is legal JSON and would become Infinity
        raise UnreadableArgumentsError(f"hold {digits[:32]}, which is out of range for a number")
    return number


def _is_deeper_than(root: Any, levels: int) -> bool:
    """Whether containers nest over ``levels``; level by level, so shared parts cost once a level and cycles end."""
    level = [root]
    for _ in range(levels):
        inner: dict[int, Any] = {}
        for container in level:
            for item in container.values() if isinstance(container, Mapping) else container:
                if isinstance(item, Mapping | list | tuple | Set):
                    inner[id(item)] = item
        if not inner:
            return False
        level = list(inner.values())
    return True
