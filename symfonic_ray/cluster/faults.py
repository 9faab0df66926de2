"""What a failure of Ray means for a hand-off: one table over all of ``ray.exceptions``. Starts and kills nothing.

It knows Ray's classes by their names, so that it can be used where no Ray is.

Ray's words never reach a model: each class has a reason of the closed set and a sentence of ours. A lost child means
an UNKNOWN outcome, not a failed one, and the sentence says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import HandOffFacts
from symfonic_ray.kernel.text import failure_line

UNKNOWN_OUTCOME = "outcome unknown: what it had started may have happened"


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong, for a record."""

    reason: str
    words: str
    lost: bool = False
    """Whether the host is gone and must be replaced."""

    def raised(self, facts: HandOffFacts) -> HandOffFault:
        """The error that a runner raises for this fault."""
        return HandOffFault(self.reason, self.words, facts)


_DIED = Fault("actor_died", f"the child's process ended while it held this task; {UNKNOWN_OUTCOME}", lost=True)
_NODE = Fault("node_died", f"the machine that ran the child was lost; {UNKNOWN_OUTCOME}", lost=True)
_MEMORY = Fault("out_of_memory", f"the child's machine ran out of memory; {UNKNOWN_OUTCOME}", lost=True)
_DISK = Fault("out_of_memory", f"the child's machine ran out of room for data; {UNKNOWN_OUTCOME}", lost=True)
_PLACE = Fault("infeasible", "the cluster has no place that fits the child", lost=True)
_DATA = Fault("serialization", "what the child gave or was given could not cross between processes")
_LOST_DATA = Fault("node_died", f"data of this task was lost with its process or machine; {UNKNOWN_OUTCOME}")
_RAY = Fault("exception", f"Ray itself failed while it carried this task; {UNKNOWN_OUTCOME}")

TABLE: dict[str, Fault] = {
    "ActorAlreadyExistsError": _RAY,
    "ActorDiedError": _DIED,
    "ActorHandleNotFoundError": _DIED,
    "ActorPlacementGroupRemoved": _PLACE,
    "ActorUnavailableError": Fault(
        "actor_died", f"the child's process cannot be reached; {UNKNOWN_OUTCOME}", lost=True
    ),
    "ActorUnschedulableError": _PLACE,
    "AsyncioActorExit": _DIED,
    "AuthenticationError": Fault("exception", "the cluster refused this process's token"),
    "CrossLanguageError": _DATA,
    "GetTimeoutError": Fault("timeout", f"no answer in time; {UNKNOWN_OUTCOME}"),
    "LocalRayletDiedError": _NODE,
    "NodeDiedError": _NODE,
    "ObjectFetchTimedOutError": _LOST_DATA,
    "ObjectFreedError": _LOST_DATA,
    "ObjectLostError": _LOST_DATA,
    "ObjectReconstructionFailedError": _LOST_DATA,
    "ObjectRefStreamEndOfStreamError": _RAY,
    "ObjectStoreFullError": _DISK,
    "OufOfBandObjectRefSerializationException": _DATA,
    "OutOfDiskError": _DISK,
    "OutOfMemoryError": _MEMORY,
    "OwnerDiedError": _LOST_DATA,
    "PendingCallsLimitExceeded": Fault("overload", "too many hand-offs wait for the child already"),
    "PlasmaObjectNotAvailable": _LOST_DATA,
    "RayActorError": _DIED,
    "RayCgraphCapacityExceeded": _RAY,
    "RayChannelError": _RAY,
    "RayChannelTimeoutError": Fault("timeout", f"no answer in time; {UNKNOWN_OUTCOME}"),
    "RayDirectTransportError": _RAY,
    "RayError": _RAY,
    "RaySystemError": _RAY,
    "RayTaskError": _RAY,
    "ReferenceCountingAssertionError": _RAY,
    "RpcError": Fault("node_died", f"the connection to the cluster failed; {UNKNOWN_OUTCOME}"),
    "RuntimeEnvSetupError": Fault("build_failed", "the child's runtime environment could not be set up", lost=True),
    "StreamingGeneratorReplayInconsistentError": _RAY,
    "TaskCancelledError": Fault("cancelled", "the hand-off was cancelled on its way"),
    "TaskPlacementGroupRemoved": _PLACE,
    "TaskUnschedulableError": _PLACE,
    "UnserializableException": _DATA,
    "UserCodeException": _RAY,
    "WorkerCrashedError": _DIED,
}


def classify(error: BaseException) -> Fault:
    """The fault that an exception of a remote call stands for.

    A ``RayTaskError`` is read by its ``cause``; its own text is a remote traceback. An exception that is not Ray's is
    the border's own failure and is told by its type, or by the ``fault`` that it carries.
    """
    if isinstance(fault := getattr(error, "fault", None), Fault):
        return fault
    names = _ray_names(error)
    if "RayTaskError" in names:
        cause = getattr(error, "cause", None) or error
        of_cause = _ray_names(cause)
        if of_cause and "RayTaskError" not in of_cause:
            return classify(cause)
        return Fault("exception", f"the child's host failed: {failure_line(cause)}")
    for name in names:
        if name in TABLE:
            return TABLE[name]
    return Fault("exception", f"the hand-off could not be carried: {failure_line(error)}")


def _ray_names(error: BaseException) -> list[str]:
    """Names of the classes of Ray that ``error`` is of, its own first."""
    return [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "ray.exceptions"]
