"""Which run this is, and which run asked for it. Ids only: knows no depth, no scope, no child."""

from __future__ import annotations

import itertools
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


IDENTITY: Ambient[RunIdentity] = Ambient("symfonic_ray_run_identity")


def current_run_identity() -> RunIdentity | None:
    """The identity of the run in flight in this context; None outside a run."""
    return IDENTITY.current()


def run_identity(identity: RunIdentity) -> Holding:
    """Hold ``identity`` as the current one for a ``with`` block; blocks nest."""
    return IDENTITY.holding(identity)


class _Ids:
    """A random prefix of this process and a number: a tenth of the cost of asking the system for each id."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.prefix = os.urandom(10).hex()
        self.numbers = itertools.count(1)


_IDS = _Ids()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDS.renew)


def new_run_id() -> str:
    """A fresh id: 32 hexadecimal digits, unlike any other of this or another process. No secret: ids are in order."""
    return f"{_IDS.prefix}{next(_IDS.numbers):012x}"


def new_root() -> RunIdentity:
    """The identity of a run that nobody asked for: the top of a new tree."""
    run_id = new_run_id()
    return RunIdentity(run_id=run_id, root_run_id=run_id)
