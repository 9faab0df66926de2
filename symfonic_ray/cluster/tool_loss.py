"""Why a call that was sent to a worker came back without an outcome, in a code and in words. Repeats nothing."""

from __future__ import annotations

from dataclasses import dataclass

from symfonic_ray.cluster.faults import classify
from symfonic_ray.cluster.tool_arguments import plain_words
from symfonic_ray.execution import WorkerDiedError

_UNKNOWN = "whether the call took effect is not known"


@dataclass(frozen=True, slots=True)
class Loss:
    """What is known of a call without an outcome."""

    reason: str
    """A code of ``OUTCOME_REASONS``."""
    words: str

    @property
    def died(self) -> bool:
        """Whether the process that ran it is gone, so that it may be tried in another."""
        return self.reason in ("worker_died", "out_of_memory")


def is_worker_lost(fault: Exception | None) -> bool:
    """Whether a process is gone and nothing else, so that all it had handed out before has been read."""
    return fault is not None and classify(fault).reason in ("actor_died", "out_of_memory")


def loss(fault: Exception | None, name: str, *, overran: float | None = None) -> Loss:
    """What became of a call of the tool ``name``.

    Args:
        fault: what Ray raised for the share that it was in; None where the share ended without a word of it.
        overran: its limit in seconds, where its process was ended because it did not keep it.
    """
    if overran is not None:
        return Loss("timeout", f"{name} did not end within its {overran:g} seconds; its process was ended")
    if fault is None:
        return Loss("dispatch_failed", f"{name} was not answered by the process that ran it; {_UNKNOWN}")
    reason = classify(fault).reason
    if reason in ("actor_died", "node_died"):
        return Loss("worker_died", str(WorkerDiedError(name)))
    if reason == "out_of_memory":
        return Loss(reason, f"the machine that ran {name!r} ran out of memory; {_UNKNOWN}")
    if reason == "infeasible":
        return Loss(reason, f"{name} was not run: the cluster has no place that fits it")
    if reason == "serialization":
        return Loss(reason, f"what {name} was given or gave cannot be sent to another process; {_UNKNOWN}")
    return Loss("dispatch_failed", f"{name} could not be carried to a worker ({plain_words(fault)}); {_UNKNOWN}")
