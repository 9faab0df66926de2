"""How much a pool and a tree may use. Values only: decides nothing, counts nothing, knows no clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar


class LimitError(ValueError):
    """A limit that cannot be kept: names the field, what was given and what is allowed."""

    def __init__(self, field_name: str, given: str, allowed: str) -> None:
        super().__init__(field_name, given, allowed)
        self.field_name, self.given, self.allowed = field_name, given, allowed

    def __str__(self) -> str:
        return f"{self.field_name} is {self.given}; give {self.allowed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """Bounds of one pool. Seconds are wall time, bytes are of UTF-8 text on the wire."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}  # read by the config room

    max_live_scopes: int = 64
    """Scopes with live children at one time."""
    max_hosts: int = 256
    """Host processes of the pool at one time."""
    warm_hosts: int = 2
    """Blank host processes started ahead; 0 for none."""
    max_in_flight: int = 256
    """Hand-offs running in the pool at one time."""
    max_in_flight_per_scope: int = 32
    """Hand-offs running for one scope at one time."""
    max_queued_per_scope: int = 1000
    """Hand-offs of one scope that may wait for a turn."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Share of each scope key; 1.0 where a key is not named."""
    idle_ttl_seconds: float = 900.0
    """A scope idle for so long is flushed and closed."""
    build_seconds: float = 30.0
    """A child has so long to start and build."""
    flush_seconds: float = 5.0
    """Grace of one child's flush."""
    close_seconds: float = 5.0
    """Grace of one child's close."""
    terminate_seconds: float = 2.0
    """Grace of one host's own exit before it is killed."""
    payload_bytes: int = 1_048_576
    """Largest task."""
    answer_bytes: int = 1_048_576
    """Largest answer; a longer one is cut with a mark that tells its size."""

    def __post_init__(self) -> None:
        for name in ("max_live_scopes", "max_hosts", "max_in_flight", "max_in_flight_per_scope"):
            _whole(name, getattr(self, name), at_least=1)
        for name in ("warm_hosts", "max_queued_per_scope"):
            _whole(name, getattr(self, name), at_least=0)
        for name in ("payload_bytes", "answer_bytes"):
            _whole(name, getattr(self, name), at_least=1024)
        for name in ("idle_ttl_seconds", "build_seconds", "flush_seconds", "close_seconds", "terminate_seconds"):
            _positive(name, getattr(self, name))
        for key, weight in self.weights.items():
            _positive(f"weights[{key!r}]", weight)
        object.__setattr__(self, "weights", _frozen(self.weights))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (PoolLimits, _state(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Bounds of one tree of runs, counted from its root."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}  # read by the config room

    max_delegations: int = 256
    """Hand-offs below one root."""
    max_tokens: int | None = None
    """Model tokens below one root, as the answers of its hand-offs report them; None for no bound. Once so many were
    used no further hand-off of the tree starts; what runs by then still ends, and counts."""
    max_seconds: float = 600.0
    """Seconds that a root's hand-off may take, its descendants included."""
    reserve_fraction: float = 0.1
    """Part of its remaining time that a parent keeps to finish its own answer."""
    reserve_seconds: float = 1.0
    """At least so many seconds are kept, though never more than half of what is left."""

    def __post_init__(self) -> None:
        _whole("max_delegations", self.max_delegations, at_least=0)
        if self.max_tokens is not None:
            _whole("max_tokens", self.max_tokens, at_least=0)
        _positive("max_seconds", self.max_seconds)
        if not _is_number(self.reserve_fraction) or not 0 <= self.reserve_fraction < 1:
            raise LimitError("reserve_fraction", repr(self.reserve_fraction), "a number from 0 up to, not including, 1")
        if not _is_number(self.reserve_seconds) or self.reserve_seconds < 0:
            raise LimitError("reserve_seconds", repr(self.reserve_seconds), "a number of seconds, 0 or more")


def _whole(name: str, value: object, *, at_least: int) -> None:
    if type(value) is not int or value < at_least:
        raise LimitError(name, repr(value), f"a whole number, {at_least} or more")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _positive(name: str, value: object) -> None:
    if not _is_number(value) or value <= 0:  # type: ignore[operator]  # _is_number has narrowed it
        raise LimitError(name, repr(value), "a finite number above 0")


def _frozen(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(mapping))


def _state(value: Any) -> dict[str, Any]:
    """The fields of a value, with read-only mappings as plain ones: a mapping proxy cannot be pickled."""
    names = [item.name for item in fields(value)]
    return {n: dict(v) if isinstance(v := getattr(value, n), MappingProxyType) else v for n in names}


def _rebuild(kind: type[Any], state: dict[str, Any]) -> Any:
    return kind(**state)
