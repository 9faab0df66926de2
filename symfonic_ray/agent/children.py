"""The tools with which a model delegates, for the length of one run. Decides only how an answer is put to the model.

Depth, names, records and lineage are delegation's own; nothing here can widen them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.agent.events import DelegationEnded, DelegationStarted, Tell
from symfonic_ray.agent.untrusted import wrapped
from symfonic_ray.delegation import (
    DelegationCapability,
    DelegationOutcome,
    DelegationRecord,
    Fleet,
)
from symfonic_ray.delegation.names import LIST_AGENTS, RUN_AGENT
from symfonic_ray.delegation.values import shown
from symfonic_ray.execution import Tool, ToolDescriptor
from symfonic_ray.kernel.tokens import Tokens, read_tokens

_FROM_THE_CHILD = (DelegationOutcome.DELIVERED, DelegationOutcome.CHILD_FAILED)


@dataclass(slots=True)
class RunChildren:
    """The children of one run and what became of the tasks they were handed."""

    fleet: Fleet | DelegationCapability
    tell: Tell
    wrap_answers: bool
    hop: int = 0
    """The hop that is being run."""
    records: list[DelegationRecord] = field(default_factory=list)
    """Every hand-off, in the order in which they ended."""

    @property
    def capability(self) -> DelegationCapability:
        """What delegation gives to this run."""
        return capability_of(self.fleet)

    @property
    def tokens(self) -> Tokens:
        """What the children said they used, those further down included."""
        return sum((read_tokens(record.usage) for record in self.records), Tokens())

    def tools(self) -> tuple[Tool, ...]:
        """The tools for the model; none when there is no child."""
        if not self.capability.active:
            return ()
        described = {spec.name: spec.description for spec in self.capability.tool_specs()}
        return (
            Tool(
                self.run_agent,
                _descriptor(
                    RUN_AGENT,
                    described[RUN_AGENT],
                    name="The agent's name, exactly as it is listed.",
                    task="All that the agent needs to know and to do.",
                ),
            ),
            Tool(self.list_agents, _descriptor(LIST_AGENTS, described[LIST_AGENTS])),
        )

    async def run_agent(self, name: Any, task: Any) -> str:  # Any: a model may send any JSON value
        """Hand ``task`` to the agent called ``name``; what it sent back, or why nothing was handed over."""
        hop = self.hop
        await self.tell(DelegationStarted(hop=hop, name=name if isinstance(name, str) else shown(name)))
        hand_over = getattr(self.fleet, "delegate", None) or self.capability.tools.delegate
        record: DelegationRecord = await hand_over(name, task)
        self.records.append(record)
        await self.tell(DelegationEnded(hop=hop, record=record))
        return wrapped(record) if self.wrap_answers and record.outcome in _FROM_THE_CHILD else record.message

    async def list_agents(self) -> str:
        """The agents that can be handed a task, one line each."""
        return self.capability.roster.describe()


def capability_of(fleet: Fleet | DelegationCapability) -> DelegationCapability:
    """The delegation of a fleet, or the capability itself."""
    return fleet if isinstance(fleet, DelegationCapability) else fleet.delegation


def _descriptor(tool_name: str, description: str, **arguments: str) -> ToolDescriptor:
    return ToolDescriptor(
        tool_name,
        description=description,
        parameters={
            "type": "object",
            "properties": {name: {"type": "string", "description": text} for name, text in arguments.items()},
            "required": list(arguments),
        },
        placement="process",  # a hand-off needs the run that makes it
        isolation="shared",
    )
