"""Handing work to named children. Pure: knows no Ray, no model, no transport."""

from symfonic_ray.delegation.adapted import AdaptedChild, adapt_child
from symfonic_ray.delegation.answers import Answer, read_answer
from symfonic_ray.delegation.calling import (
    AgentCall,
    accepted_keywords,
    accepts_run_lineage,
    call_agent,
    speaks_prompt,
)
from symfonic_ray.delegation.capability import DelegationCapability
from symfonic_ray.delegation.compiler import ChildCompiler, CompiledChildren
from symfonic_ray.delegation.composition import child_roster, delegated_children
from symfonic_ray.delegation.context import ActiveRun, DelegationContext
from symfonic_ray.delegation.contracts import ChildBuilder, ChildBuildPlan, ChildRunner, ConfigInheritance, RunSnapshots
from symfonic_ray.delegation.declarations import ChildDeclaration, ChildSpec, PrebuiltChild, ScopedChild
from symfonic_ray.delegation.depth import DEFAULT_MAX_DEPTH, DepthPolicy, coerce_depth
from symfonic_ray.delegation.errors import (
    ChildBuildError,
    ChildDeclarationError,
    ChildLockdownError,
    DelegationError,
    DuplicateChildError,
    HandOffFault,
    UnknownChildError,
    UnsanitisableChildConfigError,
)
from symfonic_ray.delegation.fleet import (
    Fleet,
    FleetTasks,
    HandOffEnded,
    HandOffEvent,
    HandOffStarted,
    current_fleet,
    serving,
)
from symfonic_ray.delegation.lifecycle import ChildLifecycle
from symfonic_ray.delegation.lockdown import (
    SELF_EDIT_FIELD,
    WRITE_SURFACE_NAMESPACE,
    WRITE_SURFACE_TOOL_NAMES,
    SeeThrough,
    assert_no_write_surface,
    deny_child_self_edit,
    is_write_surface_tool_name,
    palette_names,
    registered_write_surface_tools,
    wants_block_self_edit,
)
from symfonic_ray.delegation.names import check_child_name, described
from symfonic_ray.delegation.roster import DelegationRoster, RosterEntry, task_text
from symfonic_ray.delegation.tools import DelegationTools
from symfonic_ray.delegation.values import (
    REASONS,
    ChildDefinition,
    DelegationOutcome,
    DelegationRecord,
    DelegationToolSpec,
    HandOffFacts,
    HandOffReply,
    TeardownReport,
    shown,
)

__all__ = [
    "DEFAULT_MAX_DEPTH",
    "REASONS",
    "SELF_EDIT_FIELD",
    "WRITE_SURFACE_NAMESPACE",
    "WRITE_SURFACE_TOOL_NAMES",
    "ActiveRun",
    "AdaptedChild",
    "AgentCall",
    "Answer",
    "ChildBuildError",
    "ChildBuildPlan",
    "ChildBuilder",
    "ChildCompiler",
    "ChildDeclaration",
    "ChildDeclarationError",
    "ChildDefinition",
    "ChildLifecycle",
    "ChildLockdownError",
    "ChildRunner",
    "ChildSpec",
    "CompiledChildren",
    "ConfigInheritance",
    "DelegationCapability",
    "DelegationContext",
    "DelegationError",
    "DelegationOutcome",
    "DelegationRecord",
    "DelegationRoster",
    "DelegationToolSpec",
    "DelegationTools",
    "DepthPolicy",
    "DuplicateChildError",
    "Fleet",
    "FleetTasks",
    "HandOffEnded",
    "HandOffEvent",
    "HandOffFacts",
    "HandOffFault",
    "HandOffReply",
    "HandOffStarted",
    "PrebuiltChild",
    "RosterEntry",
    "RunSnapshots",
    "ScopedChild",
    "SeeThrough",
    "TeardownReport",
    "UnknownChildError",
    "UnsanitisableChildConfigError",
    "accepted_keywords",
    "accepts_run_lineage",
    "adapt_child",
    "assert_no_write_surface",
    "call_agent",
    "check_child_name",
    "child_roster",
    "coerce_depth",
    "current_fleet",
    "delegated_children",
    "deny_child_self_edit",
    "described",
    "is_write_surface_tool_name",
    "palette_names",
    "read_answer",
    "registered_write_surface_tools",
    "serving",
    "shown",
    "speaks_prompt",
    "task_text",
    "wants_block_self_edit",
]
