"""How deep a run may delegate. Arithmetic only: knows no child, no roster, no clock.

A depth read here comes from this process and is coerced; one that crossed a process border is validated there
and refused when malformed, because reading it as 0 would reset the ceiling.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_MAX_DEPTH = 3


def coerce_depth(value: object) -> int:
    """``value`` as a depth: a plain non-negative int; 0 for anything that cannot be one, infinity included."""
    try:
        return max(0, int(value))  # type: ignore[call-overload,no-any-return]  # the call is the question
    except Exception:
        return 0


@dataclass(frozen=True, slots=True)
class DepthPolicy:
    """A ceiling on delegation.

    Raises:
        ValueError: if ``max_depth`` is not a non-negative int.
    """

    max_depth: int
    """The deepest level at which a child may run; 0 disables delegation."""

    def __post_init__(self) -> None:
        if type(self.max_depth) is not int or self.max_depth < 0:
            raise ValueError(f"max_depth is {self.max_depth!r}; give a whole number of levels, 0 to disable delegation")

    def child_depth(self, parent_depth: object) -> int:
        """The level at which a child of a run at ``parent_depth`` would run."""
        return coerce_depth(parent_depth) + 1

    def admits(self, parent_depth: object) -> bool:
        """Whether a run at ``parent_depth`` may hand over work."""
        return self.child_depth(parent_depth) <= self.max_depth

    def refusal(self) -> str:
        """Words for the model of a run at the ceiling."""
        if self.max_depth == 0:
            return "Delegation is disabled here (the ceiling is 0 levels). Do the work yourself."
        return (
            f"This run is already as deep as delegation may go (the ceiling is {self.max_depth} levels). "
            "Do the work yourself, or say what is missing."
        )
