"""What delegation raises. Words live in ``__str__``, facts in attributes; every error survives a pickle.

DelegationError
+-- ChildDeclarationError (ValueError)
|   +-- DuplicateChildError
+-- UnknownChildError (KeyError)
+-- ChildLockdownError (ValueError)
|   +-- UnsanitisableChildConfigError (TypeError)
+-- ChildBuildError
+-- HandOffFault
"""

from __future__ import annotations

from symfonic_ray.delegation.values import REASONS, DelegationOutcome, HandOffFacts, shown

_NO_FACTS = HandOffFacts()


class DelegationError(Exception):
    """Anything that delegation itself has to say no to."""


class ChildDeclarationError(DelegationError, ValueError):
    """A child that is declared wrongly."""

    def __init__(self, child: str, problem: str) -> None:
        super().__init__(child, problem)
        self.child, self.problem = child, problem

    def __str__(self) -> str:
        return f"child {shown(self.child)}: {self.problem}"


class DuplicateChildError(ChildDeclarationError):
    """Two children under one name."""

    def __init__(self, child: str) -> None:
        DelegationError.__init__(self, child)
        self.child, self.problem = child, "is declared twice; names are matched literally, so give each its own"


class UnknownChildError(DelegationError, KeyError):
    """A name that no child bears."""

    def __init__(self, name: object, known: tuple[str, ...]) -> None:
        text = name if type(name) is str else shown(name)  # args must pickle, and a model may send anything
        super().__init__(text, known)
        self.name, self.known = text, known

    def __str__(self) -> str:
        return f"no child is named {shown(self.name)}; this roster holds {', '.join(self.known) or 'no children'}"


class ChildLockdownError(DelegationError, ValueError):
    """A child that holds, or asks for, what no delegated child may hold."""

    def __init__(self, child: str, problem: str, tools: tuple[str, ...] = ()) -> None:
        super().__init__(child, problem, tools)
        self.child, self.problem, self.tools = child, problem, tools

    def __str__(self) -> str:
        return f"child {shown(self.child)}: {self.problem}"


class UnsanitisableChildConfigError(ChildLockdownError, TypeError):
    """A config that asks for self-edit and cannot be copied with it cleared."""


class ChildBuildError(DelegationError):
    """A child that could not be built."""

    def __init__(self, child: str, reason: str, cause: str) -> None:
        super().__init__(child, reason, cause)
        self.child, self.reason, self.cause = child, reason, cause

    def __str__(self) -> str:
        return f"child {shown(self.child)} could not be built ({self.reason}): {self.cause}"


class HandOffFault(DelegationError):
    """Raised by a runner that knows why a hand-off failed.

    Args:
        reason: a code of ``REASONS`` other than the empty one.
        message: words for the parent.
        facts: what the border knows of the hand-off.
        outcome: the outcome that the record gets; never ``DELIVERED``.
    Raises:
        ValueError: if the reason is not in the closed set, or the outcome is ``DELIVERED``.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        facts: HandOffFacts = _NO_FACTS,
        outcome: DelegationOutcome = DelegationOutcome.CHILD_FAILED,
    ) -> None:
        if not reason or reason not in REASONS:
            raise ValueError(f"{reason!r} is not a reason code; use one of {', '.join(sorted(REASONS - {''}))}")
        if outcome.delivered:
            raise ValueError("a fault cannot be DELIVERED; return a HandOffReply instead")
        super().__init__(reason, message, facts, outcome)
        self.reason, self.message, self.facts, self.outcome = reason, message, facts, outcome

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"
