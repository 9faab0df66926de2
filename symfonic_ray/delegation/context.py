"""Which run is in flight here, how deep it is and what it has delegated. Decides nothing; knows no roster.

All contexts of a process read one run in flight: a child that brings its own context still sees its true depth.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
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


_RUN: Ambient[ActiveRun] = Ambient("symfonic_ray_active_run")


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
        return self._scope(coerce_depth(depth), identity)

    @asynccontextmanager
    async def _scope(self, depth: int, identity: RunIdentity | None) -> AsyncIterator[ActiveRun]:
        run = ActiveRun(depth, current_run_identity() if identity is None else identity)
        if self._snapshots is None or depth == 0:
            with _RUN.holding(run):
                yield run
            return
        token = self._snapshots.open()
        try:
            with _RUN.holding(run):
                yield run
        except BaseException as error:
            try:
                self._snapshots.close(token)
            except Exception as late:
                error.add_note(f"closing the run's snapshot failed too: {type(late).__name__}")
            raise
        self._snapshots.close(token)

    def current_run(self) -> ActiveRun | None:
        """The run in flight; None outside one."""
        return _RUN.current()

    def current_depth(self) -> int:
        """The depth of the run in flight; 0 outside one."""
        run = _RUN.current()
        return 0 if run is None else run.depth

    def current_scope(self) -> Any:
        """Whom the run in flight works for; None without a resolver."""
        return None if self._resolve_scope is None else self._resolve_scope()

    def delegated_to(self) -> tuple[str, ...]:
        """The children that answered the run in flight so far."""
        run = _RUN.current()
        return () if run is None else run.delegated_to

    def record_delegation(self, name: str) -> None:
        """Add one delivered hand-off to the run in flight; nothing outside a run."""
        run = _RUN.current()
        if run is not None:
            run.record(name)
