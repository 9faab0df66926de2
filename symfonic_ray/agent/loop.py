"""One run: the model's turns, the calls it asks for, and why it stops. Owns no model, no tool and no child.

Every call of a turn is answered exactly once before the model is asked again, and also when the run ends there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.agent.children import RunChildren
from symfonic_ray.agent.conversation import Conversation
from symfonic_ray.agent.events import Tell, TextDelta, ToolAnswered, ToolProgressed, ToolRequested
from symfonic_ray.agent.model import asked, name_of_model
from symfonic_ray.agent.palette import offered
from symfonic_ray.agent.replies import ModelReply, read_reply
from symfonic_ray.agent.responses import AgentReport
from symfonic_ray.execution import (
    BindingResult,
    ExecutionReport,
    LoopTerminationPolicy,
    SchemaBinder,
    ToolCall,
    ToolExecutor,
    ToolProgress,
)
from symfonic_ray.kernel.tokens import Tokens

CUT_SHORT = "the run was ended before this call was answered; whether it took effect is not known"


@dataclass(slots=True, kw_only=True)
class ProgressTeller:
    """Passes the executor's progress on as events of the hop that is being run."""

    tell: Tell
    hop: int = 0

    async def emit(self, event: ToolProgress) -> None:
        """Tell one event."""
        await self.tell(ToolProgressed(hop=self.hop, progress=event))


@dataclass(slots=True, kw_only=True)
class AgentLoop:
    """The turns of one run."""

    model: Any
    tools: Sequence[Any]
    """Every tool of the run, those for delegation included. Any: tools are foreign."""
    conversation: Conversation
    executor: ToolExecutor
    progress: ProgressTeller
    termination: LoopTerminationPolicy
    max_hops: int
    tell: Tell
    streams: bool
    """Whether somebody hears the model's text as it is written."""
    children: RunChildren | None = None
    tokens: Tokens = field(default_factory=Tokens)
    """What the model's turns cost so far."""
    reports: list[ExecutionReport] = field(default_factory=list)
    """One for each turn in which the model asked for tools."""
    stop_detail: str = ""
    binding: BindingResult = field(init=False)

    def __post_init__(self) -> None:
        self.binding = SchemaBinder().bind(self.model, [offered(tool) for tool in self.tools])

    async def turns(self) -> tuple[str, str]:
        """Let the model take its turns until the run stops.

        Returns:
            The stripped answer, and a code of ``STOP_REASONS``.
        Raises:
            Exception: whatever the model raises.
            asyncio.CancelledError: when the run is cancelled; every call of the conversation is answered then too.
        """
        for hop in range(self.max_hops):
            reply = await self._turn(hop)
            if not reply.calls:
                answer = reply.text.strip()
                return answer, "answered" if answer else "no_final_response"
            await self._act(hop, reply.calls)
            verdict = self.termination.evaluate(self.conversation.messages)
            if verdict.terminate:
                self.stop_detail = verdict.detail
                return "", verdict.reason
        self.stop_detail = f"the model still asked for tools at its turn number {self.max_hops}, the last it may have"
        return "", "max_hops"

    def report(self) -> AgentReport:
        """What happened so far."""
        return AgentReport(
            model=name_of_model(self.model),
            binding=self.binding.reason,
            binding_notes=self.binding.notes,
            hops=tuple(self.reports),
            delegations=() if self.children is None else tuple(self.children.records),
            stop_detail=self.stop_detail,
        )

    async def _turn(self, hop: int) -> ModelReply:
        async def hear(text: str) -> None:
            await self.tell(TextDelta(hop=hop, text=text))

        original = await asked(self.binding.model, self.conversation.for_model(), hear if self.streams else None)
        reply = read_reply(original)
        self.tokens += reply.tokens
        self.conversation.say(reply, original)
        return reply

    async def _act(self, hop: int, calls: tuple[ToolCall, ...]) -> None:
        self.progress.hop = hop
        if self.children is not None:
            self.children.hop = hop
        try:
            for slot, call in enumerate(calls):
                await self.tell(ToolRequested(hop=hop, slot=slot, call=call))
            report = await self.executor.execute(calls, self.tools)
        except BaseException:
            self.conversation.answer_unanswered(CUT_SHORT)
            raise
        self.reports.append(report)
        self.conversation.answer(report.outcomes)
        for slot, outcome in enumerate(report.outcomes):
            await self.tell(ToolAnswered(hop=hop, slot=slot, outcome=outcome))
