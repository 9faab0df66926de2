"""Which run is in flight here, how deep it is and what it has delegated. Decides nothing; knows no roster.

All contexts of a process read one run in flight: a child that brings its own context still sees its true depth.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from symfonic_ray.delegation.contracts import RunSnapshots
from symfonic_ray.delegation.depth import coerce_depth
from symfonic_ray.kernel import Ambient, RunIdentity, current_run_identity


class ActiveRun:
    """One run, readable also after its scope closed."""

    __slots__ = ("_delegated_to", "depth", "identity")

    def __init__(self, depth: int, identity: RunIdentity | None = None) -> None:
        self.depth = depth
        self.identity = identity
        self._delegated_to: list[str] = []

    @property
    def run_id(self) -> str:
        """This run's id; empty when it has none."""
        return "" if self.identity is None else self.identity.run_id

    @property
    def root_run_id(self) -> str:
        """The id at the top of the tree; this run's own where none is known."""
        return "" if self.identity is None else self.identity.root_run_id or self.identity.run_id

    @property
    def parent_run_id(self) -> str | None:
        """The id of the run that handed over this work."""
        return None if self.identity is None else self.identity.parent_run_id

    @property
    def delegated_to(self) -> tuple[str, ...]:
        """The children that answered, in order, repeats kept."""
        return tuple(self._delegated_to)

    @property
    def delegated(self) -> bool:
        """Whether any child answered."""
        return bool(self._delegated_to)

    def record(self, name: str) -> None:
        """Add one delivered hand-off."""
        self._delegated_to.append(name)


RUN: Ambient[ActiveRun] = Ambient("symfonic_ray_active_run")


class DelegationContext:
    """Opens run scopes and answers for the run in flight.

    Args:
        snapshots: opened once per delegated run (depth over 0) and always closed.
        resolve_scope: asked each time; the scope belongs to the run in flight, not to this object.
    """

    def __init__(
        self, *, snapshots: RunSnapshots | None = None, resolve_scope: Callable[[], Any] | None = None
    ) -> None:  # Any: a scope is narrowed by scope_key
        self._snapshots = snapshots
        self._resolve_scope = resolve_scope

    def run_scope(
        self, *, depth: object = 0, identity: RunIdentity | None = None
    ) -> AbstractAsyncContextManager[ActiveRun]:
        """Hold a run for an ``async with`` block; any task may close it, and so may garbage collection.

        Args:
            depth: coerced to a non-negative int.
            identity: the current one by default.
        """
        run = ActiveRun(coerce_depth(depth), current_run_identity() if identity is None else identity)
        return _RunScope(run, self._snapshots if run.depth else None)

    def current_run(self) -> ActiveRun | None:
        """The run in flight; None outside one."""
        return RUN.current()

    def current_depth(self) -> int:
        """The depth of the run in flight; 0 outside one."""
        run = RUN.current()
        return 0 if run is None else run.depth

    def current_scope(self) -> Any:
        """Whom the run in flight works for; None without a resolver."""
        return None if self._resolve_scope is None else self._resolve_scope()

    def delegated_to(self) -> tuple[str, ...]:
        """The children that answered the run in flight so far."""
        run = RUN.current()
        return () if run is None else run.delegated_to

    def record_delegation(self, name: str) -> None:
        """Add one delivered hand-off to the run in flight; nothing outside a run."""
        run = RUN.current()
        if run is not None:
            run.record(name)


class _RunScope:
    """One run for an ``async with`` block. A class, since every hand-off opens one and a generator costs more."""

    __slots__ = ("_held", "_run", "_snapshots", "_token")

    def __init__(self, run: ActiveRun, snapshots: RunSnapshots | None) -> None:
        self._run = run
        self._held = RUN.holding(run)
        self._snapshots = snapshots
        self._token: Any = None

    async def __aenter__(self) -> ActiveRun:
        if self._snapshots is not None:
            self._token = self._snapshots.open()
        self._held.__enter__()
        return self._run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__()
        if self._snapshots is None:
            return
        try:
            self._snapshots.close(self._token)
        except Exception as late:
            if error is None:
                raise
            error.add_note(f"closing the run's snapshot failed too: {type(late).__name__}")
