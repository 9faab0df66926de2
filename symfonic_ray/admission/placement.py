"""Where a child runs and how many runs it takes at a time. A value: places nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from symfonic_ray.admission.limits import LimitError, _frozen, _is_number, _rebuild, _state, _whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What one child asks of the cluster. The default holds no core while it waits."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}  # read by the config room

    num_cpus: float = 0
    """Cores held for the life of the host. An autoscaling cluster only grows for more than 0."""
    num_gpus: float = 0
    """GPUs held for the life of the host."""
    memory: int | None = None
    """Bytes reserved on the node; None for no reservation."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom Ray resources."""
    label_selector: Mapping[str, str] = field(default_factory=dict)
    """Node labels that must match."""
    replicas: int | tuple[int, int] = 1
    """Hosts of one scope's child, or (least, most)."""
    concurrency: int = 1
    """Runs of one instance at one time; 1 unless the agent is safe for more."""
    runtime_env: Mapping[str, Any] | None = field(default=None, repr=False)
    """Ray runtime environment of the host. Never put a secret here: Ray logs it."""
    share: Literal["child", "scope"] = "child"
    """``child``: a process for each child; ``scope``: one process for all children of a scope."""
    delegates_to: tuple[str, ...] = ()
    """Children that this child may hand work to; none unless named."""
    idempotent: bool = False
    """Whether a run whose outcome is unknown may be repeated."""
    lazy: bool = False
    """Built at its first hand-off rather than when the scope is entered."""

    def __post_init__(self) -> None:
        for name in ("num_cpus", "num_gpus"):
            value = getattr(self, name)
            if not _is_number(value) or value < 0:
                raise LimitError(name, repr(value), "a number, 0 or more")
        if self.memory is not None:
            _whole("memory", self.memory, at_least=1)
        _whole("concurrency", self.concurrency, at_least=1)
        least, most = self.replica_range
        _whole("replicas", least, at_least=1)
        _whole("replicas", most, at_least=least)
        if self.share not in ("child", "scope"):
            raise LimitError("share", repr(self.share), "'child' or 'scope'")
        names: object = self.delegates_to
        if isinstance(names, str):  # a bare name would become its letters
            raise LimitError("delegates_to", repr(self.delegates_to), "a list of child names")
        object.__setattr__(self, "delegates_to", tuple(self.delegates_to))
        for name in ("resources", "label_selector"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        if self.runtime_env is not None:
            object.__setattr__(self, "runtime_env", _frozen(self.runtime_env))

    @property
    def replica_range(self) -> tuple[int, int]:
        """Least and most hosts of one scope's child."""
        return (self.replicas, self.replicas) if isinstance(self.replicas, int) else self.replicas

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (Placement, _state(self))
