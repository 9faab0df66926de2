"""Which run this is, and which run asked for it. Ids only: knows no depth, no scope, no child."""

from __future__ import annotations

import os
from dataclasses import dataclass

from symfonic_ray.kernel.ambient import Ambient, Holding


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The three ids of a run."""

    run_id: str
    """This run."""
    root_run_id: str
    """The run at the top of the tree; equal to ``run_id`` for a root."""
    parent_run_id: str | None = None
    """The run that handed over the work; None for a root."""


_IDENTITY: Ambient[RunIdentity] = Ambient("symfonic_ray_run_identity")


def current_run_identity() -> RunIdentity | None:
    """The identity of the run in flight in this context; None outside a run."""
    return _IDENTITY.current()


def run_identity(identity: RunIdentity) -> Holding:
    """Hold ``identity`` as the current one for a ``with`` block; blocks nest."""
    return _IDENTITY.holding(identity)


def new_run_id() -> str:
    """A fresh id: 32 hexadecimal digits from the operating system's randomness."""
    return os.urandom(16).hex()


def new_root() -> RunIdentity:
    """The identity of a run that nobody asked for: the top of a new tree."""
    run_id = new_run_id()
    return RunIdentity(run_id=run_id, root_run_id=run_id)
