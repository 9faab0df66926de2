"""How a run of an agent ends: its answer, why it stopped, and all that happened on the way. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.agent.messages import Message
from symfonic_ray.delegation import DelegationRecord
from symfonic_ray.execution import ExecutionReport, PhaseRecord, ToolOutcome

STOP_REASONS = frozenset(
    {
        "answered",  # the model asked for no tool and gave its answer
        "no_final_response",  # the model asked for no tool and said nothing
        "repeated_signature",  # one call, name and arguments, came too often; no answer
        "repeated_name",  # one tool came too often, whatever its arguments; no answer
        "max_hops",  # the model still asked for tools at its last turn; no answer
    }
)
"""Every ``AgentResponse.stop_reason`` there is. A run that fails or is cancelled raises, and has no response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """What happened in a run, hop by hop. A hop is one turn of the model and the tool calls it asks for."""

    model: str = ""
    """The model's name for itself; its type where it has none."""
    binding: str = ""
    """How the tools were bound; see ``BindingResult.reason``."""
    binding_notes: tuple[str, ...] = ()
    hops: tuple[ExecutionReport, ...] = ()
    """One report for each turn in which the model asked for tools."""
    delegations: tuple[DelegationRecord, ...] = ()
    """Every hand-off, in the order in which they ended."""
    stop_detail: str = ""
    """Why the run stopped, in words; empty for an answer."""

    @property
    def outcomes(self) -> tuple[ToolOutcome, ...]:
        """Every tool call's outcome, in call order."""
        return tuple(outcome for hop in self.hops for outcome in hop.outcomes)

    @property
    def trace(self) -> tuple[PhaseRecord, ...]:
        """What the phases did, hop after hop."""
        return tuple(record for hop in self.hops for record in hop.trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResponse:
    """How a run ended. A parent reads it as a child's response."""

    final_response: str
    """The answer, stripped; empty when the run stopped without one."""
    messages: tuple[Message, ...] = ()
    """The whole conversation; every tool call in it is answered."""
    delegated_to: tuple[str, ...] = ()
    """The children that answered, in order, repeats kept."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """``input_tokens``, ``output_tokens``, ``total_tokens`` of the run and of all it delegated, and under ``own`` the
    same of its own model calls alone. Any: plain JSON data, as in a ``DelegationRecord``."""
    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    stop_reason: str = "answered"
    """A code of ``STOP_REASONS``."""
    report: AgentReport = AgentReport()

    @property
    def error(self) -> str:
        """What a parent is told in place of an answer; empty for an answer."""
        return "" if self.final_response else f"it stopped without an answer ({self.stop_reason}): {self._why()}"

    def _why(self) -> str:
        return self.report.stop_detail or "the model said nothing"
