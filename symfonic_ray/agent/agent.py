"""An agent: a chat model, its tools and its children. Puts the parts of a run together and decides nothing of them.

It is a child by the contract of ``ChildRunner``, a parent when a fleet is in reach, or both. One agent may have many
runs at once: it keeps nothing of any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from symfonic_ray.agent.children import RunChildren, capability_of
from symfonic_ray.agent.conversation import CURRENT, Conversation
from symfonic_ray.agent.events import AgentEvent, Tell
from symfonic_ray.agent.guards import RunGuards
from symfonic_ray.agent.loop import AgentLoop, ProgressTeller
from symfonic_ray.agent.model import ChatModel
from symfonic_ray.agent.palette import checked_tools, descriptors_of, name_of
from symfonic_ray.agent.responses import AgentResponse
from symfonic_ray.agent.stream import AgentStream
from symfonic_ray.delegation import DelegationCapability, DelegationContext, Fleet, current_fleet
from symfonic_ray.delegation.depth import coerce_depth
from symfonic_ray.execution import (
    Dispatcher,
    LoopTerminationPolicy,
    Precondition,
    PreconditionSet,
    RetrySchedule,
    SteeringGate,
    ToolExecutor,
)
from symfonic_ray.kernel import RunIdentity, new_run_id, run_identity
from symfonic_ray.kernel.tokens import Tokens, usage_of

MAX_HOPS = 16  # twice what a plan of a handful of steps takes; a run that needs more says so


@dataclass(frozen=True, slots=True)
class _Told:
    """What the caller of a run told it."""

    identity: RunIdentity
    depth: int
    streams: bool
    tell: Tell


class Agent:
    """A chat model that calls tools and delegates until it has an answer.

    Args:
        model: a chat model by structure; see ``ChatModel``. Any: models are foreign, and the agent does not close it.
        tools: functions, ``Tool``s, LangChain tools, or any object with ``name`` and ``invoke`` or ``ainvoke``. What
            their descriptors allow in one invocation is counted for each run.
        fleet: the children; None for those of the run in flight, where there are any.
        preconditions: the author's own checks. They are shared by all runs, so a ``CallBudget`` does not belong here.
        steering: a guard that may answer in a tool's place.
        retries: when a failed call is tried again; once each by default.
        termination: when a model that repeats itself is stopped.
        system_prompt: stands first in every conversation; none when empty.
        max_hops: the model's turns in one run, at least 1.
        dispatcher: where tools run; in this process by default.
        wrap_answers: whether a child's words are put to the model as untrusted data.
    Raises:
        ToolNameError: for a tool under a name that no provider accepts, or that delegation keeps for itself.
        DuplicateToolError: where two tools share a name.
        UnnamedToolError: for a tool without a name.
        NotRunnableError: for a tool in which nothing can be called.
        ValueError: if ``max_hops`` is below 1.
    """

    def __init__(
        self,
        model: ChatModel | Any,
        tools: Iterable[Any] = (),
        fleet: Fleet | DelegationCapability | None = None,
        *,
        preconditions: PreconditionSet | Iterable[Precondition] = (),
        steering: SteeringGate | None = None,
        retries: RetrySchedule | None = None,
        termination: LoopTerminationPolicy | None = None,
        system_prompt: str = "",
        max_hops: int = MAX_HOPS,
        dispatcher: Dispatcher | None = None,
        wrap_answers: bool = True,
    ) -> None:
        if max_hops < 1:
            raise ValueError(f"max_hops is {max_hops}; give the model at least 1 turn")
        self._model = model
        self._tools = checked_tools(tools)
        self._fleet = fleet
        self._given = preconditions if isinstance(preconditions, PreconditionSet) else PreconditionSet(preconditions)
        self._steering = steering
        self._retries = retries
        self._termination = termination or LoopTerminationPolicy()
        self._system_prompt = system_prompt
        self._max_hops = max_hops
        self._dispatcher = dispatcher
        self._wrap_answers = wrap_answers

    def __repr__(self) -> str:
        return f"<agent with {', '.join(self.palette()) or 'no tools'}>"

    @property
    def tools(self) -> tuple[Any, ...]:
        """The agent's own tools. Any: tools are foreign."""
        return self._tools

    def palette(self) -> tuple[str, ...]:
        """The names of the agent's own tools, for whoever has to judge them; those for delegation come with a run."""
        return tuple(name_of(tool) for tool in self._tools)

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> AgentResponse:
        """Answer ``query``.

        Args:
            query: the task, as text.
            scope: whom the run works for; the fleet knows its own, so this is only taken. Any: see ``scope_key``.
            run_id: this run's id; a new one by default.
            agent_depth: how many hand-offs above this run; over 0 the run may call no tool that edits prompts.
            root_run_id: the run at the top of the tree; this one by default.
            parent_run_id: the run that handed over the task.
        Returns:
            The response, also when the model was stopped without an answer; ``stop_reason`` says why it ended.
        Raises:
            Exception: whatever the model raises.
            asyncio.CancelledError: when the run is cancelled; its tools and children are told to stop.
        """
        told = _Told(_identity(run_id, root_run_id, parent_run_id), coerce_depth(agent_depth), False, _to_nobody)
        return await self._answer(Conversation(self._system_prompt, query), told)

    def stream(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> AgentStream:
        """The same run, told event by event; the model's text is streamed where the model can.

        The run starts with the first wait for an event and ends when the stream is left; see ``AgentStream``.
        """
        conversation = Conversation(self._system_prompt, query)
        identity, depth = _identity(run_id, root_run_id, parent_run_id), coerce_depth(agent_depth)
        return AgentStream(conversation, lambda tell: self._answer(conversation, _Told(identity, depth, True, tell)))

    async def _answer(self, conversation: Conversation, told: _Told) -> AgentResponse:
        fleet = self._fleet if self._fleet is not None else _fleet_in_flight()
        children = None if fleet is None else RunChildren(fleet, told.tell, self._wrap_answers)
        context = DelegationContext() if fleet is None else capability_of(fleet).context
        loop = self._loop(conversation, told, children)
        with run_identity(told.identity), CURRENT.holding(conversation):
            async with context.run_scope(depth=told.depth, identity=told.identity) as active:
                answer, stop_reason = await loop.turns()
        return AgentResponse(
            final_response=answer,
            messages=conversation.messages,
            delegated_to=active.delegated_to,
            usage=usage_of(loop.tokens, Tokens() if children is None else children.tokens),
            run_id=told.identity.run_id,
            root_run_id=told.identity.root_run_id,
            parent_run_id=told.identity.parent_run_id,
            stop_reason=stop_reason,
            report=loop.report(),
        )

    def _loop(self, conversation: Conversation, told: _Told, children: RunChildren | None) -> AgentLoop:
        tools = self._tools if children is None else (*self._tools, *children.tools())
        progress = ProgressTeller(tell=told.tell)
        executor = ToolExecutor(
            preconditions=RunGuards(self._given, descriptors_of(self._tools), delegated=told.depth > 0),
            steering=self._steering,
            retries=self._retries,
            progress=progress if told.streams else None,
            dispatcher=self._dispatcher,
        )
        return AgentLoop(
            model=self._model,
            tools=tools,
            conversation=conversation,
            executor=executor,
            progress=progress,
            termination=self._termination,
            max_hops=self._max_hops,
            tell=told.tell,
            streams=told.streams,
            children=children,
        )


def _identity(run_id: str | None, root_run_id: str | None, parent_run_id: str | None) -> RunIdentity:
    own = run_id or new_run_id()
    return RunIdentity(own, root_run_id or own, parent_run_id)


def _fleet_in_flight() -> Fleet | None:
    with suppress(LookupError):
        return current_fleet()
    return None


async def _to_nobody(event: AgentEvent) -> None:
    """For a run that nobody listens to."""
