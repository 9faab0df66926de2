"""One batch of tool calls, from reading to report. Pairs calls and outcomes by slot; runs no tool itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from symfonic_ray.execution.arguments import UnreadableArgumentsError, read_arguments
from symfonic_ray.execution.catalog import DuplicateToolError
from symfonic_ray.execution.dispatch import Dispatcher, InProcessDispatcher
from symfonic_ray.execution.preconditions import PreconditionSet
from symfonic_ray.execution.progress import NullProgressSink, ProgressRelay, ProgressSink
from symfonic_ray.execution.retry import RetrySchedule
from symfonic_ray.execution.settling import is_containable
from symfonic_ray.execution.steering import SteeringGate
from symfonic_ray.execution.values import AdmittedCall, ExecutionReport, PhaseRecord, ToolCall, ToolOutcome
from symfonic_ray.kernel.text import clipped, collapsed, failure_line

NAMES_SHOWN_BYTES = 1024  # of the tools on offer, where a model asked for another


class UnnamedToolError(TypeError):
    """A tool in a list of tools that no call could ask for."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f"a tool of type {self.kind} has neither name nor __name__; name it, or hand in a mapping"


class MispairedOutcomesError(RuntimeError):
    """A dispatcher that answered more or fewer calls than it was given."""

    def __init__(self, asked: int, answered: int) -> None:
        super().__init__(asked, answered)
        self.asked, self.answered = asked, answered

    def __str__(self) -> str:
        return f"the dispatcher was given {self.asked} calls and answered {self.answered}; it must answer each in order"


class ToolExecutor:
    """Runs batches of calls through every phase. One outcome a call, whatever happens to it."""

    def __init__(
        self,
        *,
        preconditions: PreconditionSet | None = None,
        steering: SteeringGate | None = None,
        retries: RetrySchedule | None = None,
        progress: ProgressSink | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """Hold the phases.

        Args:
            preconditions: None checks nothing.
            steering: None lets every call through.
            retries: None tries each call once.
            progress: None drops every event.
            dispatcher: None runs calls in this process.
        """
        self._preconditions = preconditions or PreconditionSet()
        self._steering = steering or SteeringGate()
        self._retries = retries or RetrySchedule()
        self._progress = progress or NullProgressSink()
        self._dispatcher = dispatcher or InProcessDispatcher()

    async def execute(self, calls: Sequence[ToolCall], tools: Mapping[str, Any] | Iterable[Any]) -> ExecutionReport:
        """Run ``calls`` and answer each.

        Calls are admitted one after another, in call order, and then run together.

        Args:
            calls: shape (calls,); ids may be empty or repeated.
            tools: by name, or an iterable of tools named by ``name`` or ``__name__``. Any: tools are foreign.
        Returns:
            One outcome a call, in call order, and the trace.
        Raises:
            asyncio.CancelledError: when the run is cancelled; tools that run are told to stop.
            DuplicateToolError: where two tools of an iterable share a name.
            UnnamedToolError: where a tool of an iterable has none.
        """
        batch = _Batch(tuple(calls), _by_name(tools), [])
        relay = ProgressRelay(self._progress, batch.trace)
        admitted: list[AdmittedCall] = []
        try:
            for slot in range(len(batch.calls)):
                one = await self._admit(batch, slot)
                if one is not None:
                    admitted.append(one)
        except BaseException:  # the run ends here: what was counted and will not run is given back
            for one in admitted:
                self._preconditions.give_back(one.call)
            raise
        if admitted:
            for one, answer in zip(admitted, await self._dispatch(batch, admitted, relay), strict=True):
                batch.settle(one, answer)
        return ExecutionReport(tuple(batch.outcomes[slot] for slot in range(len(batch.calls))), tuple(batch.trace))

    async def _admit(self, batch: _Batch, slot: int) -> AdmittedCall | None:
        """The call in ``slot``, ready to run; None where it is answered already."""
        readable = batch.read(slot)
        if readable is None:
            return None
        judgement = await self._preconditions.judge(readable.call)
        for finding in judgement.findings:
            batch.note(slot, "precondition", finding.action, f"{finding.check}: {finding.reason}")
        objection = judgement.objection
        if objection is not None:
            content = objection.content or f"{readable.call.name} was not run: {objection.reason}"
            reason = "check_failed" if judgement.is_fault else "blocked"
            batch.answer(slot, "precondition", reason, content, is_error=objection.is_error)
            return None
        try:
            steering = await self._steering.steer(readable.call)
        except BaseException:
            self._preconditions.give_back(readable.call)
            raise
        if steering.fault:
            batch.note(slot, "steering", "fault", steering.fault)
        if steering.answer is None:
            return readable
        self._preconditions.give_back(readable.call)
        batch.note(slot, "steering", "answered", steering.answer.origin)
        reason = "steering_failed" if steering.fault else "steered"
        batch.answer(slot, "steering", reason, steering.answer.content, is_error=steering.answer.is_error)
        return None

    async def _dispatch(self, batch: _Batch, admitted: Sequence[AdmittedCall], relay: ProgressRelay) -> Sequence[Any]:
        """What the dispatcher answers, shape (calls,); None for each where it broke. Any: it is injected."""
        try:
            answers = list(await self._dispatcher.dispatch(tuple(admitted), retries=self._retries, emit=relay.emit))
            if len(answers) != len(admitted):  # which answer is missing cannot be told, so none can be paired
                raise MispairedOutcomesError(len(admitted), len(answers))
            return answers
        except BaseException as error:
            if not is_containable(error):
                raise
            for one in admitted:
                batch.note(one.slot, "dispatch", "fault", failure_line(error))
            return [None] * len(admitted)
        finally:
            await relay.close()


class _Batch:
    """The calls of one run, what became of each, and the trace."""

    def __init__(self, calls: tuple[ToolCall, ...], tools: Mapping[str, Any], trace: list[PhaseRecord]) -> None:
        self.calls = calls
        self.tools = tools
        self.trace = trace
        self.outcomes: dict[int, ToolOutcome] = {}

    def note(self, slot: int, phase: str, action: str, detail: str) -> None:
        self.trace.append(PhaseRecord(phase, self.calls[slot].id, action, detail, slot))

    def answer(self, slot: int, phase: str, reason: str, content: str, *, is_error: bool) -> None:
        self.outcomes[slot] = ToolOutcome(self.calls[slot], content, is_error, 0, phase, reason)

    def read(self, slot: int) -> AdmittedCall | None:
        """The call with its tool and its arguments read; None, and answered, where either cannot be had."""
        call = self.calls[slot]
        if not isinstance(call.name, str) or call.name not in self.tools:
            offered = clipped(", ".join(map(str, self.tools)) or "no tools", limit_bytes=NAMES_SHOWN_BYTES)
            asked = clipped(collapsed(repr(call.name)[:200]), limit_bytes=200)
            self._unread(slot, "unknown_tool", f"no tool is named {asked}; you have {offered}")
            return None
        try:
            return AdmittedCall(slot, replace(call, args=read_arguments(call.args)), self.tools[call.name])
        except UnreadableArgumentsError as error:
            self._unread(slot, "bad_arguments", f"{call.name} was not run: {error}")
        except Exception as error:  # a mapping of foreign make may raise from anything that is asked of it
            self._unread(slot, "bad_arguments", f"{call.name} was not run: {failure_line(error)}")
        return None

    def settle(self, one: AdmittedCall, answer: Any) -> None:
        """Pair a dispatcher's answer with its slot; only an outcome is one. Any: the dispatcher is injected."""
        if isinstance(answer, ToolOutcome):
            outcome = replace(answer, call=self.calls[one.slot])
        else:
            words = f"{one.call.name} was not answered: its dispatcher failed; whether it took effect is not known"
            outcome = ToolOutcome(self.calls[one.slot], words, True, 0, "dispatch", "dispatch_failed")
        self.outcomes[one.slot] = outcome
        self.note(one.slot, "dispatch", "failed" if outcome.is_error else "delivered", outcome.reason)

    def _unread(self, slot: int, reason: str, content: str) -> None:
        self.note(slot, "reading", "refused", content)
        self.answer(slot, "reading", reason, content, is_error=True)


def _by_name(tools: Mapping[str, Any] | Iterable[Any]) -> Mapping[str, Any]:
    if isinstance(tools, Mapping):
        return tools
    named: dict[str, Any] = {}
    for tool in tools:
        name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
        if not isinstance(name, str):
            raise UnnamedToolError(type(tool).__name__)
        if name in named:
            raise DuplicateToolError(name)
        named[name] = tool
    return named
