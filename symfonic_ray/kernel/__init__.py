"""Values that every room shares. Standard library only; imports no other room."""

from symfonic_ray.kernel.ambient import Ambient, Holding
from symfonic_ray.kernel.contribution import CapabilityContribution
from symfonic_ray.kernel.deadline import Deadline, current_deadline, deadline, seconds_for_child
from symfonic_ray.kernel.identity import RunIdentity, current_run_identity, new_root, new_run_id, run_identity
from symfonic_ray.kernel.scope import ScopeError, scope_from_key, scope_hash, scope_key

__all__ = [
    "Ambient",
    "CapabilityContribution",
    "Deadline",
    "Holding",
    "RunIdentity",
    "ScopeError",
    "current_deadline",
    "current_run_identity",
    "deadline",
    "new_root",
    "new_run_id",
    "run_identity",
    "scope_from_key",
    "scope_hash",
    "scope_key",
    "seconds_for_child",
]
