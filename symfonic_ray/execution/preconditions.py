"""Whether a call may run: checks asked in order, the first objection wins. Knows no tool body and no model.

A check that raises blocks the call, because an enforcement fault is no permission. Counting comes last, so that a call
refused elsewhere uses up nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from symfonic_ray.execution.catalog import ToolDescriptor
from symfonic_ray.execution.settling import is_containable, settled
from symfonic_ray.execution.values import PreconditionVerdict, ToolCall
from symfonic_ray.kernel.text import failure_line


class Precondition(Protocol):
    """One rule about calls."""

    @property
    def name(self) -> str:
        """What the trace calls the rule."""
        ...

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        """None for no objection; ``PreconditionVerdict.unavailable`` where the rule cannot be looked up."""
        ...


class CallBudget:
    """How many calls of each tool one invocation may make. A retried call counts once."""

    name = "call_budget"

    def __init__(self, descriptors: Mapping[str, ToolDescriptor]) -> None:
        """Count by the ``max_calls_per_invocation`` of ``descriptors``; a tool without one is not bounded."""
        self._descriptors = descriptors
        self._used: Counter[str] = Counter()

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        """Count ``call``, or object where its tool's budget is used up. Nothing is awaited between look and count."""
        descriptor = self._descriptors.get(call.name)
        limit = None if descriptor is None else descriptor.max_calls_per_invocation
        if limit is None:
            return None
        if self._used[call.name] >= limit:
            return PreconditionVerdict.block(
                content=f"{call.name} may be called {limit} times in one turn and that is used up; "
                "this call was not run, go on with what you have",
                reason=f"the budget of {limit} calls is used up",
            )
        self._used[call.name] += 1
        return None

    def give_back(self, call: ToolCall) -> None:
        """Take back the count of a call that was counted and then did not run."""
        if self._used[call.name] > 0:
            self._used[call.name] -= 1

    def reset(self) -> None:
        """Start the next invocation: every tool has its whole budget again."""
        self._used.clear()


class CapabilityRequirement:
    """Blocks a tool whose required capability is absent.

    A tool that the catalogue never heard of is admitted: it will be answered as unknown, which a wiring mistake must
    be told by.
    """

    name = "capability"

    def __init__(self, descriptors: Mapping[str, ToolDescriptor], *, available: frozenset[type] = frozenset()) -> None:
        """Hold the ``requires`` of ``descriptors`` against the types in ``available``."""
        self._descriptors = descriptors
        self._available = available

    async def check(self, call: ToolCall) -> PreconditionVerdict | None:
        """Object where the tool's ``requires`` is not among the available types."""
        descriptor = self._descriptors.get(call.name)
        if descriptor is None or descriptor.requires is None or descriptor.requires in self._available:
            return None
        missing = descriptor.requires.__name__
        return PreconditionVerdict.block(
            content=f"{call.name} needs {missing}, which is not available here; this call was not run",
            reason=f"{missing} is not available",
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check said of one call, for the trace."""

    check: str
    """The check's name."""
    action: str
    """``undecided``, ``blocked`` or ``fault``."""
    reason: str
    """Why, in words."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What all checks together said of one call."""

    objection: PreconditionVerdict | None
    """The first objection; None where the call is admitted."""
    findings: tuple[Finding, ...]
    """What is worth a line in the trace, in the order in which the checks were asked."""
    is_fault: bool = False
    """Whether the objection stands for a check that raised."""


class PreconditionSet:
    """Checks asked in order; a ``CallBudget`` is asked after every other, wherever it stands in the list."""

    def __init__(self, checks: Iterable[Precondition] = ()) -> None:
        given = tuple(checks)
        self._rules = tuple(check for check in given if not isinstance(check, CallBudget))
        self._budgets = tuple(check for check in given if isinstance(check, CallBudget))

    async def judge(self, call: ToolCall) -> Judgement:
        """Ask every check until one objects.

        Raises:
            asyncio.CancelledError: when the run is cancelled meanwhile; nothing is counted then.
        """
        findings: list[Finding] = []
        counted: list[CallBudget] = []
        for check in (*self._rules, *self._budgets):
            name = str(getattr(check, "name", type(check).__name__))
            try:
                verdict = _verdict(await settled(check.check(call)))
            except BaseException as error:
                if not is_containable(error):
                    raise
                reason = failure_line(error)
                findings.append(Finding(name, "fault", reason))
                _uncount(counted, call)
                content = (
                    f"{call.name} was not run: the check {name} failed, and a call that cannot be checked is refused"
                )
                return Judgement(PreconditionVerdict.block(content, reason), tuple(findings), is_fault=True)
            if verdict is None:
                if isinstance(check, CallBudget):
                    counted.append(check)
            elif not verdict.admitted:
                _uncount(counted, call)
                findings.append(Finding(name, "blocked", verdict.reason))
                return Judgement(verdict, tuple(findings))
            elif verdict.undetermined:
                findings.append(Finding(name, "undecided", verdict.reason))
        return Judgement(None, tuple(findings))

    def give_back(self, call: ToolCall) -> None:
        """Undo the counting of an admitted call that did not run after all."""
        _uncount(self._budgets, call)


def _uncount(budgets: Iterable[CallBudget], call: ToolCall) -> None:
    for budget in budgets:
        budget.give_back(call)


def _verdict(answer: object) -> PreconditionVerdict | None:
    if answer is None or isinstance(answer, PreconditionVerdict):
        return answer
    raise TypeError(f"the check answered with a {type(answer).__name__}; answer with a PreconditionVerdict or None")
