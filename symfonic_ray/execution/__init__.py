"""The life of one tool call, phase by phase: binding, guards, execution, progress, retries, termination.

Pure: the standard library and ``symfonic_ray.kernel``. Models, tools, guards and messages are read by structure.
"""

from symfonic_ray.execution.arguments import UnreadableArgumentsError, read_arguments
from symfonic_ray.execution.binding import SchemaBinder
from symfonic_ray.execution.body import NotRunnableError, descriptor_of
from symfonic_ray.execution.catalog import (
    DuplicateToolError,
    Tool,
    ToolDescriptor,
    descriptors_by_name,
    tool,
)
from symfonic_ray.execution.dispatch import Dispatcher, InProcessDispatcher
from symfonic_ray.execution.executor import MispairedOutcomesError, ToolExecutor, UnnamedToolError
from symfonic_ray.execution.life import failed_outcome, run_call
from symfonic_ray.execution.preconditions import CallBudget, CapabilityRequirement, Precondition, PreconditionSet
from symfonic_ray.execution.progress import Emit, NullProgressSink, ProgressSink, drain_with_progress
from symfonic_ray.execution.result_text import result_text
from symfonic_ray.execution.retry import RetrySchedule, WorkerDiedError
from symfonic_ray.execution.skill_gate import MalformedPredicateError, SkillPrecondition
from symfonic_ray.execution.steering import Consultant, SteeringGate
from symfonic_ray.execution.termination import LoopTerminationPolicy
from symfonic_ray.execution.values import (
    OUTCOME_REASONS,
    AdmittedCall,
    BindingResult,
    ExecutionReport,
    PhaseRecord,
    PreconditionVerdict,
    SteeringResult,
    TerminationVerdict,
    ToolCall,
    ToolOutcome,
    ToolProgress,
)

__all__ = [
    "OUTCOME_REASONS",
    "AdmittedCall",
    "BindingResult",
    "CallBudget",
    "CapabilityRequirement",
    "Consultant",
    "Dispatcher",
    "DuplicateToolError",
    "Emit",
    "ExecutionReport",
    "InProcessDispatcher",
    "LoopTerminationPolicy",
    "MalformedPredicateError",
    "MispairedOutcomesError",
    "NotRunnableError",
    "NullProgressSink",
    "PhaseRecord",
    "Precondition",
    "PreconditionSet",
    "PreconditionVerdict",
    "ProgressSink",
    "RetrySchedule",
    "SchemaBinder",
    "SkillPrecondition",
    "SteeringGate",
    "SteeringResult",
    "TerminationVerdict",
    "Tool",
    "ToolCall",
    "ToolDescriptor",
    "ToolExecutor",
    "ToolOutcome",
    "ToolProgress",
    "UnnamedToolError",
    "UnreadableArgumentsError",
    "WorkerDiedError",
    "descriptor_of",
    "descriptors_by_name",
    "drain_with_progress",
    "failed_outcome",
    "read_arguments",
    "result_text",
    "run_call",
    "tool",
]
