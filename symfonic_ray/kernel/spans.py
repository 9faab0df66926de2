"""Spans of work, by whoever records them. Knows no tracing library: without one, everything here costs one ``if``."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Literal, Protocol, Self

Attribute = str | int | float | bool
SpanKind = Literal["internal", "client", "server"]


class Span(Protocol):
    """One piece of work; a ``with`` block makes it the current one, and ends it."""

    @property
    def traceparent(self) -> str:
        """What a child in another process is told, in the form of the W3C."""
        ...

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """Add attributes."""
        ...

    def fail(self, words: str) -> None:
        """Say that it failed, and why in few words."""
        ...

    def end(self) -> None:
        """End one that was never entered."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Tracer(Protocol):
    """Records spans of this process."""

    def start(
        self, name: str, attributes: Mapping[str, Attribute], *, kind: SpanKind = "internal", parent: str | None = None
    ) -> Span:
        """Start a span.

        Args:
            name: of the work, with few values.
            attributes: known from the start.
            kind: of the span.
            parent: a traceparent from another process; None for the current span.
        """
        ...

    def traceparent(self) -> str | None:
        """Of the current span; None outside every span."""
        ...

    def flush(self, seconds: float) -> None:
        """Export what has ended; blocks for so long at most."""
        ...


_tracers: list[Tracer] = []


def current_tracer() -> Tracer | None:
    """Whoever records spans in this process; None when nobody does."""
    return _tracers[-1] if _tracers else None


def trace_with(tracer: Tracer | None) -> None:
    """Record spans of this process with ``tracer`` from now on; None to record none."""
    _tracers[:] = [] if tracer is None else [tracer]
