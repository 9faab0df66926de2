"""What the phases hand to one another. Values only: knows no tool, no clock, no process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.execution.arguments import read_arguments
from symfonic_ray.execution.signature import canonical_text

OUTCOME_REASONS = frozenset(
    {
        "",  # the tool ran to its end; `content` is its result
        "unknown_tool",  # no tool of that name was offered; nothing ran
        "not_runnable",  # the tool is neither callable nor invocable; nothing ran
        "bad_arguments",  # the arguments could not be read; nothing ran
        "blocked",  # a precondition objected, or its answer could not be read; nothing ran
        "check_failed",  # a precondition raised, which is no permission; nothing ran
        "steered",  # the guard answered in the tool's place; nothing ran
        "steering_failed",  # the guard raised and the gate is told to refuse; nothing ran
        "exception",  # the tool raised
        "cancelled",  # the tool cancelled itself; the run goes on
        "timeout",  # the tool's own time limit ran out
        "dispatch_failed",  # the dispatcher raised, or left the call unanswered; effect unknown
        "worker_died",  # the process that ran the tool is gone; effect unknown
        "out_of_memory",  # the same, because memory ran out; effect unknown
        "serialization",  # the call or its result cannot cross a process border
        "payload_too_large",  # the call or its result is over the limit
        "infeasible",  # the tool asks for resources that no node has; nothing ran
    }
)
"""Every ``ToolOutcome.reason`` there is. A guard's own words are in the report's trace, not here."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A reading of what the model asked for."""

    id: str
    """The provider's id; may be empty or repeated: calls are told apart by their place in the batch."""
    name: str
    """The tool asked for, as the model wrote it."""
    args: Any = field(default_factory=dict)
    """A mapping of argument names, or the model's text for one. Any: a foreign model writes it. The executor hands
    guards and tools a mapping, read strictly from the text."""

    @property
    def signature(self) -> str:
        """The repeat key: the name and the canonical arguments, without the id."""
        try:
            arguments: Any = read_arguments(self.args)
        except Exception:  # unreadable, or a mapping that raises: its own text is the key then
            arguments = self.args
        return f"{self.name} {canonical_text(arguments)}"


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The single result of one call."""

    call: ToolCall
    """The call as it was asked."""
    content: str
    """What the model reads."""
    is_error: bool = False
    """Whether the call did not do what was asked."""
    attempts: int = 0
    """How often the body was started; 0 for a call that never ran."""
    phase: str = "dispatch"
    """The phase that decided: ``reading``, ``precondition``, ``steering`` or ``dispatch``."""
    reason: str = ""
    """A code of ``OUTCOME_REASONS``."""
    value: Any = None
    """What the tool returned; None for a call that ended otherwise. Any: tools are foreign."""


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """One line of what happened to one call."""

    phase: str
    """``reading``, ``precondition``, ``steering``, ``dispatch`` or ``progress``."""
    call_id: str
    """The call's id as the provider gave it."""
    action: str
    """What the phase did, in one word, such as ``blocked``, ``undecided`` or ``fault``."""
    detail: str = ""
    """Why, in words."""
    slot: int = 0
    """The call's place in its batch, from 0."""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """How one batch ended."""

    outcomes: tuple[ToolOutcome, ...] = ()
    """One outcome a call, in call order."""
    trace: tuple[PhaseRecord, ...] = ()
    """What the phases did, in the order in which they did it."""


@dataclass(frozen=True, slots=True)
class PreconditionVerdict:
    """What a precondition says of one call."""

    admitted: bool
    """Whether the call may go on."""
    content: str
    """What the model reads where it may not."""
    reason: str
    """Why, for the trace."""
    is_error: bool = True
    """Whether the refusal is an error outcome."""
    undetermined: bool = False
    """Whether the check could not tell, and admits without having decided."""

    @classmethod
    def block(cls, content: str, reason: str) -> PreconditionVerdict:
        """An objection that the model reads as ``content``."""
        return cls(admitted=False, content=content, reason=reason)

    @classmethod
    def unavailable(cls, reason: str) -> PreconditionVerdict:
        """The check cannot tell: the call goes on and the trace says undecided."""
        return cls(admitted=True, content="", reason=reason, undetermined=True)


@dataclass(frozen=True, slots=True)
class SteeringResult:
    """An answer that a guard gives in the tool's place."""

    call_id: str
    tool_name: str
    content: str
    """What the model reads."""
    is_error: bool = True
    origin: str = "steering"


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """One value that a running tool yielded before its last."""

    call_id: str
    tool_name: str
    sequence: int
    """From 0 in each attempt."""
    payload: Any = None
    """The value as the tool yielded it. Any: tools are foreign."""
    slot: int = 0
    """The call's place in its batch, from 0."""


@dataclass(frozen=True, slots=True)
class TerminationVerdict:
    """Whether the loop stops."""

    terminate: bool
    reason: str
    """``no_tool_calls``, ``repeated_signature``, ``repeated_name`` or ``continue``."""
    detail: str = ""
    """Words that name the tool; empty where no tool is the cause."""


@dataclass(frozen=True, slots=True)
class BindingResult:
    """How tools were bound to a model."""

    model: Any
    """The bound model, or the one handed in where nothing was bound. Any: models are foreign."""
    bound: bool
    reason: str
    """``bound``, ``no_tools``, ``no_bind_tools``, ``not_implemented`` or ``forced_choice_refused``."""
    forced_choice: Any = None
    """The tool choice in force; None where none was asked for or it was refused."""
    degraded: bool = False
    """Whether something that was asked for was left out."""
    notes: tuple[str, ...] = ()
    """What went wrong on the way, in words."""


@dataclass(frozen=True, slots=True)
class AdmittedCall:
    """A call that every guard let through, ready for a dispatcher."""

    slot: int
    """The call's place in its batch, from 0; unique there, as ids are not."""
    call: ToolCall
    """The call, its arguments read into a mapping."""
    tool: Any
    """The tool to run. Any: a callable, an invocable or a tool specification."""
