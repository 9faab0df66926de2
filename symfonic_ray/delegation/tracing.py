"""What the span of a hand-off says, by the names of OpenTelemetry's conventions for agents. No task, no answer."""

from __future__ import annotations

from symfonic_ray.delegation.values import DelegationRecord
from symfonic_ray.kernel.spans import Attribute, Span, Tracer

INVOKE = "invoke_agent"
_OPERATION = "gen_ai.operation.name"


def hand_off_span(tracer: Tracer, name: object, depth: int) -> Span:
    """The caller's span of a hand-off.

    Args:
        tracer: records it.
        name: the child's; None for a name that is no child's, which may be anything.
        depth: where the child runs, or would run.
    """
    attributes: dict[str, Attribute] = {_OPERATION: INVOKE, "symfonic_ray.depth": depth}
    if name is None:
        return tracer.start(INVOKE, attributes, kind="client")
    return tracer.start(f"{INVOKE} {name}", attributes | {"gen_ai.agent.name": str(name)}, kind="client")


def tell_record(span: Span, record: DelegationRecord) -> None:
    """Say how a hand-off ended."""
    told: dict[str, Attribute] = {
        "symfonic_ray.outcome": record.outcome.value,
        "symfonic_ray.run_id": record.run_id,
        "symfonic_ray.root_run_id": record.root_run_id,
        "symfonic_ray.parent_run_id": record.parent_run_id or "",
        "symfonic_ray.fresh": record.fresh,
    }
    usage = record.usage or {}
    for name in ("input_tokens", "output_tokens"):
        if type(count := usage.get(name)) is int:
            told[f"gen_ai.usage.{name}"] = count
    span.set(told)
    if record.reason:
        span.fail(record.reason)


def run_span(
    tracer: Tracer, name: str, depth: int, run_id: str, root_run_id: str, parent_run_id: str | None, parent: str | None
) -> Span:
    """The child's own span of a run, below the caller's."""
    attributes: dict[str, Attribute] = {
        _OPERATION: INVOKE,
        "gen_ai.agent.name": name,
        "symfonic_ray.depth": depth,
        "symfonic_ray.run_id": run_id,
        "symfonic_ray.root_run_id": root_run_id,
        "symfonic_ray.parent_run_id": parent_run_id or "",
    }
    return tracer.start(f"{INVOKE} {name}", attributes, kind="server", parent=parent)
