"""Spans as OpenTelemetry records them, named as its conventions for agents want. Set up once in each process.

``OTEL_*`` variables are read by OpenTelemetry itself. Tasks and answers are never recorded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from symfonic_ray.adapters.import_string import imported
from symfonic_ray.kernel import spans
from symfonic_ray.kernel.text import failure_line

_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT, "server": SpanKind.SERVER}
_PROPAGATOR = TraceContextTextMapPropagator()
_LOGGER = logging.getLogger("symfonic_ray.tracing")


class OpenTelemetrySpan:
    """One span."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token: Any = None  # Any: OpenTelemetry's own

    @property
    def traceparent(self) -> str:
        """Of this span."""
        return _traceparent(trace.set_span_in_context(self._span))

    def set(self, attributes: Mapping[str, spans.Attribute]) -> None:
        """Add attributes."""
        self._span.set_attributes(dict(attributes))

    def fail(self, words: str) -> None:
        """Say that it failed."""
        self._span.set_status(Status(StatusCode.ERROR, words))
        self._span.set_attribute("error.type", words)

    def end(self) -> None:
        """End it."""
        self._span.end()

    def __enter__(self) -> Self:
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        if kind is not None:
            self.fail("cancelled" if kind.__name__ == "CancelledError" else kind.__name__)
        otel_context.detach(self._token)
        self._span.end()


class OpenTelemetryTracer:
    """A ``Tracer`` over OpenTelemetry.

    Args:
        provider: who makes the spans; the process's own by default.
    """

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._provider = provider or trace.get_tracer_provider()
        self._tracer = self._provider.get_tracer("symfonic_ray")

    def start(
        self,
        name: str,
        attributes: Mapping[str, spans.Attribute],
        *,
        kind: spans.SpanKind = "internal",
        parent: str | None = None,
    ) -> OpenTelemetrySpan:
        """Start a span; see ``Tracer``."""
        above = None if parent is None else _PROPAGATOR.extract({"traceparent": parent})
        return OpenTelemetrySpan(
            self._tracer.start_span(name, context=above, kind=_KINDS[kind], attributes=dict(attributes))
        )

    def traceparent(self) -> str | None:
        """Of the current span."""
        return _traceparent(None) or None

    def flush(self, seconds: float) -> None:
        """Export what has ended."""
        flush = getattr(self._provider, "force_flush", None)
        if flush is not None:
            flush(int(seconds * 1000))


def start_tracing(hook: str | None, *, by_environment: bool = False) -> None:
    """Record the spans of this process from now on, where OpenTelemetry is set up in it; once.

    A hook that fails, or an exporter that is not installed, is told to the logger ``symfonic_ray.tracing``: a fleet
    runs without its trace rather than not at all.

    Args:
        hook: ``package.module:function`` that sets it up; not called where the program has done so.
        by_environment: export over OTLP as the ``OTEL_*`` variables say, where nobody has set it up.
    """
    if spans.current_tracer() is not None:
        return
    if isinstance(trace.get_tracer_provider(), ProxyTracerProvider):  # nobody has set it up yet
        try:
            if hook is not None:
                imported(hook)()
            elif by_environment:
                _export_as_the_environment_says()
        except Exception as error:
            _LOGGER.warning("this process is not traced: %s", failure_line(error))
    if not isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        spans.trace_with(OpenTelemetryTracer())


def _export_as_the_environment_says() -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "symfonic-ray"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _traceparent(context: Any) -> str:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context)
    return carrier.get("traceparent", "")
