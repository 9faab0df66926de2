"""Which calls of one run may go ahead: the run's own rules around those of the agent's author.

Made new for each run, so that runs of one agent do not share a count. Knows no tool body and no model.
"""

from __future__ import annotations

from collections.abc import Mapping

from symfonic_ray.delegation import is_write_surface_tool_name
from symfonic_ray.execution import CallBudget, PreconditionSet, PreconditionVerdict, ToolCall, ToolDescriptor
from symfonic_ray.execution.preconditions import Finding, Judgement

LOCKDOWN = "lockdown"


class RunGuards(PreconditionSet):
    """The lockdown first, then the author's checks, then what the tools' descriptors allow in one run."""

    def __init__(self, given: PreconditionSet, descriptors: Mapping[str, ToolDescriptor], *, delegated: bool) -> None:
        """Guard one run.

        Args:
            given: the author's own checks.
            descriptors: by tool name; their ``max_calls_per_invocation`` is counted here.
            delegated: whether the run was handed over by another agent, so that it may edit no prompt.
        """
        super().__init__()
        self._given = given
        self._budget = CallBudget(descriptors)
        self._delegated = delegated

    async def judge(self, call: ToolCall) -> Judgement:
        """What every rule together says of ``call``; the first objection stands."""
        if self._delegated and is_write_surface_tool_name(call.name):
            reason = "a delegated run may not edit prompts"
            objection = PreconditionVerdict.block(f"{call.name} was not run: {reason}", reason)
            return Judgement(objection, (Finding(LOCKDOWN, "blocked", reason),))
        judgement = await self._given.judge(call)
        if judgement.objection is not None:
            return judgement
        used_up = await self._budget.check(call)
        if used_up is None:
            return judgement
        self._given.give_back(call)
        return Judgement(used_up, (*judgement.findings, Finding(self._budget.name, "blocked", used_up.reason)))

    def give_back(self, call: ToolCall) -> None:
        """Undo the counting of an admitted call that did not run after all."""
        self._given.give_back(call)
        self._budget.give_back(call)
