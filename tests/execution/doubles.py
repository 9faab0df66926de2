"""Stand-ins that satisfy the execution room's ports, and keep what they were asked. They decide nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symfonic_ray.execution import (
    AdmittedCall,
    Emit,
    PreconditionVerdict,
    RetrySchedule,
    ToolCall,
    ToolOutcome,
    ToolProgress,
)


class RuleCheck:
    """A precondition over a function of the call; keeps every call it was asked about."""

    def __init__(self, rule: Callable[[ToolCall], Any], name: str = "rule") -> None:
        self.name = name
        self.rule = rule
        self.asked: list[ToolCall] = []

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        self.asked.append(call)
        answer: PreconditionVerdict | None = self.rule(call)
        return answer


class RecordingSink:
    """A progress sink that keeps events; ``fails_on`` raises at the event of that sequence number."""

    def __init__(self, fails_on: int | None = None) -> None:
        self.events: list[ToolProgress] = []
        self.fails_on = fails_on

    def emit(self, event: ToolProgress) -> None:
        if event.sequence == self.fails_on:
            raise RuntimeError("the screen is gone")
        self.events.append(event)

    def payloads(self, slot: int = 0) -> list[tuple[int, Any]]:
        return [(event.sequence, event.payload) for event in self.events if event.slot == slot]


class ScriptedDispatcher:
    """A dispatcher that runs nothing and answers what it is told to; keeps what it was handed."""

    def __init__(self, script: Callable[[Sequence[AdmittedCall], Emit], Any]) -> None:
        self.script = script
        self.admitted: list[AdmittedCall] = []

    async def dispatch(
        self, admitted: Sequence[AdmittedCall], *, retries: RetrySchedule, emit: Emit
    ) -> Sequence[ToolOutcome]:
        self.admitted.extend(admitted)
        answers: Sequence[ToolOutcome] = self.script(admitted, emit)
        return answers


def failing(error: BaseException) -> Callable[..., Any]:
    """A function of anything that raises ``error``."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def echo(value: Any) -> Any:
    """A tool that answers with what it was given."""
    return value


def call(name: str = "echo", /, *, id: str = "c1", **args: Any) -> ToolCall:
    """A call of ``name`` with ``args``."""
    return ToolCall(id, name, args)
