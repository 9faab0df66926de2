"""What a run tells while it goes on. Values only; every event of a hop comes before the next hop's first.

A hop is one turn of the model, counted from 0, and the tool calls that it asks for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from symfonic_ray.agent.responses import AgentResponse
from symfonic_ray.delegation import DelegationRecord
from symfonic_ray.execution import ToolCall, ToolOutcome, ToolProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The model wrote some more text."""

    hop: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequested:
    """The model asks for a tool."""

    hop: int
    slot: int
    """The call's place in its hop, from 0; ids may be blank or repeated."""
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed:
    """A running tool gave a value before its last."""

    hop: int
    progress: ToolProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationStarted:
    """A task is handed to a child."""

    hop: int
    name: str
    """What the model asked for; a name that is not a string is its bounded repr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationEnded:
    """A hand-off has its record."""

    hop: int
    record: DelegationRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswered:
    """A call has its outcome; told in call order once the whole hop is answered."""

    hop: int
    slot: int
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The run is over; the last event, unless the run raised."""

    response: AgentResponse


AgentEvent: TypeAlias = (
    TextDelta | ToolRequested | ToolProgressed | DelegationStarted | DelegationEnded | ToolAnswered | RunEnded
)

Tell: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""How a run tells an event; awaiting it may wait for a slow listener."""
