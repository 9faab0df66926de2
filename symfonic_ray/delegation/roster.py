"""Which children there are and how one is reached by name. Knows no depth policy, no tally, no transport.

A name that does not resolve is never answered by another child or by the parent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from symfonic_ray.delegation.calling import AgentCall
from symfonic_ray.delegation.errors import DuplicateChildError, UnknownChildError
from symfonic_ray.delegation.lockdown import assert_no_write_surface
from symfonic_ray.delegation.names import described
from symfonic_ray.delegation.values import ChildDefinition
from symfonic_ray.kernel.text import collapsed

NONE_DECLARED = "(none declared)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
    """One child that can be handed work."""

    name: str
    description: str
    runner: Any
    """A ``ChildRunner``; Any because a narrower ``run`` is called with the keywords that it names."""
    when_to_use: str | None = None
    owned: bool = False
    """Whether the composition built it, and so closes it."""

    def listing(self) -> str:
        """The one line that a model reads."""
        hint = described(self.when_to_use) if self.when_to_use else ""
        return f"  - {collapsed(self.name)}: {described(self.description)}" + (f" ({hint})" if hint else "")


class DelegationRoster:
    """Children in the order of their declaration.

    Raises:
        DuplicateChildError: if two entries share a name.
        ChildLockdownError: if a runner holds a write surface.
    """

    def __init__(self, entries: Iterable[RosterEntry]) -> None:
        self._rows: dict[str, tuple[RosterEntry, AgentCall]] = {}
        for entry in entries:
            if entry.name in self._rows:
                raise DuplicateChildError(entry.name)
            self._rows[entry.name] = (entry, AgentCall(assert_no_write_surface(entry.name, entry.runner)))
        self._listing = "\n".join(entry.listing() for entry, _ in self._rows.values()) or NONE_DECLARED

    @property
    def names(self) -> tuple[str, ...]:
        """Every child's name."""
        return tuple(self._rows)

    def find(self, name: object) -> RosterEntry | None:
        """The child of exactly that name; None for any other value of any type."""
        row = self._row(name)
        return None if row is None else row[0]

    def definitions(self) -> tuple[ChildDefinition, ...]:
        """Every child as a catalogue shows it."""
        return tuple(
            ChildDefinition(name=entry.name, description=described(entry.description))
            for entry, _ in self._rows.values()
        )

    def describe(self) -> str:
        """The listing that a model reads, one line a child."""
        return self._listing

    async def run(
        self,
        name: object,
        task: object,
        *,
        scope: Any = None,
        depth: int = 1,
        run_id: str | None = None,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> Any:
        """Hand ``task`` to the child called ``name`` and return its response as it is.

        Raises:
            UnknownChildError: if no child bears that name.
            ChildLockdownError: if the child has a write surface by now.
            Exception: whatever the child raises, untouched.
        """
        row = self._row(name)
        if row is None:
            raise UnknownChildError(name, self.names)
        entry, call = row
        assert_no_write_surface(entry.name, entry.runner)
        known = call.takes_lineage
        return await call(
            task_text(task),
            scope=scope,
            run_id=run_id,
            agent_depth=depth,
            root_run_id=root_run_id if known else None,
            parent_run_id=parent_run_id if known else None,
        )

    def _row(self, name: object) -> tuple[RosterEntry, AgentCall] | None:
        # str.__str__: a subclass may bring a hash of its own
        return self._rows.get(str.__str__(name)) if isinstance(name, str) else None


def task_text(task: object) -> str:
    """A task as text: a string as it is, anything else as JSON text, or by ``str`` where JSON cannot."""
    if isinstance(task, str):
        return task
    try:
        return json.dumps(task, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(task)
