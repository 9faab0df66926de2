"""Whether and how the processes of a fleet record spans. Loads no tracing library before one is wanted."""

from __future__ import annotations

import os
import sys

HOOK = "SYMFONIC_RAY_TRACING"
"""Names ``package.module:function``, called once in each process of a fleet to set OpenTelemetry up there."""
BY_ENVIRONMENT = "environment"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def tracing_wanted() -> str | None:
    """How hosts are to trace: the hook's name, by the environment, or None for not at all."""
    if hook := os.environ.get(HOOK):
        return hook
    return BY_ENVIRONMENT if any(os.environ.get(name) for name in _ENDPOINTS) else None


def begin_tracing(wanted: str | None) -> None:
    """Record spans in this process, where that is wanted, or where its program has set OpenTelemetry up itself."""
    if wanted is not None or "opentelemetry.sdk.trace" in sys.modules:
        from symfonic_ray.adapters.otel import start_tracing

        start_tracing(None if wanted == BY_ENVIRONMENT else wanted, by_environment=wanted == BY_ENVIRONMENT)
