"""One child inside its host: built once, run by envelope rows, closed once. Knows no actor and no wire bytes.

Every fault of a child, ``SystemExit`` included, ends inside the run's own coroutine: what leaves is a reply row.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from types import CoroutineType
from typing import Any, Literal

from symfonic_ray.cluster.blueprint import BuildFailure, ChildBlueprint
from symfonic_ray.cluster.envelope import HandOffRow, ReplyRow
from symfonic_ray.cluster.hosted_run import HOSTED_RUN, HostedRun
from symfonic_ray.cluster.lifetime import LifetimeTask
from symfonic_ray.cluster.shipping import unshipped
from symfonic_ray.cluster.turns import Turn, Turns
from symfonic_ray.delegation.answers import read_answer
from symfonic_ray.delegation.calling import AgentCall
from symfonic_ray.delegation.context import RUN, ActiveRun
from symfonic_ray.delegation.errors import ChildLockdownError, HandOffFault
from symfonic_ray.delegation.fleet import FLEET, Fleet
from symfonic_ray.delegation.lockdown import assert_no_write_surface
from symfonic_ray.delegation.tracing import run_span
from symfonic_ray.kernel import Ambient, Deadline, Holding, RunIdentity
from symfonic_ray.kernel.deadline import DEADLINE
from symfonic_ray.kernel.identity import IDENTITY
from symfonic_ray.kernel.spans import current_tracer
from symfonic_ray.kernel.text import failure_line

ENDED_RUNS = 4_096  # runs below others that a stop's receipt can still name
REMEMBERED_IDS = 65_536  # call ids used or cancelled; a batch holds 256, so replays of minutes ago are known


class RunInHost:
    """A hand-off from its arrival to its reply."""

    __slots__ = ("deadline", "row", "task", "why")

    def __init__(self, row: HandOffRow, task: asyncio.Task[Any]) -> None:
        self.row = row
        self.task = task
        self.deadline = Deadline.after(row.seconds_left, now=time.monotonic())  # the wait for a turn counts too
        self.why: tuple[str, str] | None = None
        """Reason and words, once somebody asked the run to stop."""

    def stop(self, reason: str, words: str) -> None:
        """Ask the run to stop; the first reason stands."""
        if self.why is None:
            self.why = (reason, words)
            self.task.cancel()


class HostedChild:
    """One agent and its runs, on the host's work loop."""

    def __init__(self, blueprint: ChildBlueprint, *, scope: Any, answer_bytes: int, rebuilt: bool) -> None:
        self.name = blueprint.name
        self._blueprint = blueprint
        self._scope = scope
        self._answer_bytes = answer_bytes
        self._fresh = rebuilt
        self._turns = Turns(blueprint.placement.concurrency)
        self._concurrent = blueprint.placement.concurrency > 1
        self._lifetime = LifetimeTask(blueprint.name)
        self._runs: dict[str, RunInHost] = {}
        self._ids_seen: OrderedDict[str, str] = OrderedDict()
        self._lost_runs: OrderedDict[str, str] = OrderedDict()
        self._stopped_trees: OrderedDict[str, str] = OrderedDict()
        self._ended: OrderedDict[str, str] = OrderedDict()
        self._agent: Any = None
        self._call: AgentCall | None = None
        self._fleet: Fleet | None = None
        self._closing = False
        self.frozen = False
        """Whether rows are refused until the scope is thawed; set from another thread too."""

    # ---- build

    async def build(self, fleet: Fleet) -> BuildFailure | None:
        """Build the agent in the lifetime task and lock it down; None when it is ready."""
        self._fleet = fleet
        return await self._lifetime.do(self._build)

    async def _build(self) -> BuildFailure | None:
        try:
            build = unshipped(self._blueprint.parcel)
            agent = build(self._scope)
            if inspect.isawaitable(agent):
                agent = await agent
            if not callable(getattr(agent, "run", None)):
                kind = type(agent).__name__
                return BuildFailure(self.name, "build_failed", f"its build gave {kind}, which has no callable run")
            assert_no_write_surface(self.name, agent)
            self._agent, self._call = agent, AgentCall(agent)
        except ChildLockdownError as error:
            return BuildFailure(self.name, "lockdown", failure_line(error))
        except BaseException as error:  # SystemExit and the like: a build's own fault, never the host's end
            return BuildFailure(self.name, "build_failed", failure_line(error))
        return None

    # ---- runs

    async def serve(self, row: HandOffRow) -> ReplyRow:
        """The reply to one row, whatever the child does."""
        started = time.monotonic()
        reply = self._refusal(row)
        if reply is None:
            task = asyncio.current_task()
            assert task is not None
            run = self._runs[row.call_id] = RunInHost(row, task)
            try:
                turn = Turn(self._turns, row.run_id, row.ancestors)
                if not turn.enter():
                    await turn.wait()
                try:
                    if self._concurrent or not turn.held or self._lifetime.busy:
                        reply = await self._execute(run, turn)
                    else:
                        reply = await self._lifetime.do(partial(self._execute, run, turn))
                finally:
                    turn.leave()
            except asyncio.CancelledError:
                reply = _failed(row, *(run.why or ("cancelled", "the host stopped this run")))
            finally:
                del self._runs[row.call_id]
                if row.ancestors and run.why is None:
                    self._note_ended(row)
            if run.why is None:  # a reply that was cut short may be heard by nobody
                reply.fresh, self._fresh = self._fresh, False
        reply.seconds = time.monotonic() - started
        return reply

    def _refusal(self, row: HandOffRow) -> ReplyRow | None:
        match self._ids_seen.get(row.call_id):
            case "cancelled":
                return _failed(row, "cancelled", "it was cancelled before it came; nothing was run")
            case "used":
                return _failed(row, "scope_mismatch", "its call id was used before; nothing was run")
        if self.frozen:  # before its id counts as used: the caller asks again after a thaw
            return _failed(row, "frozen", "its scope is frozen; nothing was run")
        _remember(self._ids_seen, row.call_id, "used")
        if self._lost_runs and not self._lost_runs.keys().isdisjoint(row.ancestors):
            return _failed(row, "cancelled", "the run that asked for it was lost; nothing was run")
        if row.root_run_id in self._stopped_trees:
            return _failed(row, "cancelled", "its tree of runs was stopped; nothing was run")
        if self._closing or self._call is None:
            return _failed(row, "shutting_down", "the child is being closed; nothing was run")
        return None

    async def _execute(self, run: RunInHost, turn: Turn) -> ReplyRow:
        tracer = current_tracer()
        if tracer is None:
            return await self._run_agent(run, turn)
        row = run.row
        lineage = (row.run_id, row.root_run_id, row.parent_run_id)
        with run_span(tracer, self.name, row.agent_depth, *lineage, row.traceparent) as span:
            reply = await self._run_agent(run, turn)
            if reply.reason:
                span.fail(reply.reason)
            return reply

    async def _run_agent(self, run: RunInHost, turn: Turn) -> ReplyRow:
        row = run.row
        call = self._call
        assert call is not None
        identity = RunIdentity(row.run_id, row.root_run_id, row.parent_run_id)
        hosted = HostedRun(
            row.run_id,
            row.root_run_id,
            row.agent_depth,
            row.ancestors,
            turn,
            self._blueprint.on_cycle,
            self._stopped_trees,
        )
        active = ActiveRun(row.agent_depth, identity)
        held: dict[Ambient[Any], Any] = {
            IDENTITY: identity,
            DEADLINE: run.deadline,
            FLEET: self._fleet,
            RUN: active,
            HOSTED_RUN: hosted,
        }
        try:
            assert_no_write_surface(self.name, self._agent)  # a tool added since the build
            with Holding(None, held):
                response = call.start(
                    row.task, self._scope, row.run_id, row.agent_depth, row.root_run_id, row.parent_run_id
                )
                if type(response) is CoroutineType:  # nearly always
                    response = await (_outlasting(response) if call.blocking else response)
                elif inspect.isawaitable(response):
                    response = await response
            reply = self._answered(row, response, active.delegated_to)
        except asyncio.CancelledError:
            if run.why is not None:
                raise
            reply = _failed(row, "cancelled", "the child cancelled its own run")
        except ChildLockdownError as error:
            reply = _failed(row, "lockdown", failure_line(error))
        except BaseException as error:  # SystemExit, KeyboardInterrupt: the child's failure, not the loop's end
            reply = _failed(row, "exception", failure_line(error))
        if run.why is not None:  # it was asked to stop and ended in its own way
            reply = _failed(row, *run.why)
        if hosted.records:
            reply.records = tuple(hosted.records)
        return reply

    def _answered(self, row: HandOffRow, response: object, delegated_to: tuple[str, ...]) -> ReplyRow:
        if type(response) is str and (text := response.strip()):  # most children, at a quarter of the cost
            reply = _reply(row)
            reply.delegated_to = delegated_to
            reply.final_response = self._cut(text)
            return reply
        try:
            answer = read_answer(response)
        except HandOffFault as fault:
            return _failed(row, fault.reason, fault.message)
        reply = _reply(row)
        reply.usage = None if answer.usage is None else dict(answer.usage)
        reply.delegated_to = answer.delegated_to or tuple(delegated_to)
        if answer.text:
            reply.final_response = self._cut(answer.text)
        else:
            reply.reason, reply.failure = "no_final_response", answer.error
        return reply

    def _cut(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        if len(raw) <= self._answer_bytes:
            return text
        mark = f"\n... (cut: the whole answer has {len(raw)} bytes, {self._answer_bytes} are allowed)"
        return raw[: self._answer_bytes - len(mark)].decode("utf-8", "ignore") + mark

    # ---- stop and close

    def stop(self, call_id: str, reason: str, words: str) -> bool:
        """Ask one run to stop, or refuse it ahead of its arrival; False when it is unknown or has ended."""
        run = self._runs.get(call_id)
        if run is None:
            if call_id not in self._ids_seen:  # its batch may be behind this cancel
                _remember(self._ids_seen, call_id, "cancelled")
            return False
        run.stop(reason, words)
        return True

    def stop_below(self, runs: frozenset[str]) -> None:
        """Stop the runs that have one of ``runs`` above them, and refuse those that come later."""
        for run_id in runs:
            _remember(self._lost_runs, run_id, "lost")
        for run in tuple(self._runs.values()):
            if not runs.isdisjoint(run.row.ancestors):
                run.stop("cancelled", "the run that asked for it was lost")

    def present(self, root_run_id: str) -> tuple[str, ...]:
        """Run ids of one tree that are present; may be asked from another thread."""
        return tuple(run.row.run_id for run in list(self._runs.values()) if run.row.root_run_id == root_run_id)

    def ended(self, root_run_id: str) -> tuple[str, ...]:
        """Run ids of one tree that ended by themselves; may be asked from another thread."""
        return tuple(run_id for run_id, root in list(self._ended.items()) if root == root_run_id)

    def refuse_tree(self, root_run_id: str) -> None:
        """Refuse every run of a tree from now on."""
        _remember(self._stopped_trees, root_run_id, "cancelled")

    def stop_tree(self, root_run_id: str) -> dict[asyncio.Task[Any], str]:
        """Ask the runs of one tree to stop; gives their tasks with their run ids."""
        self.refuse_tree(root_run_id)
        runs = [run for run in self._runs.values() if run.row.root_run_id == root_run_id]
        for run in runs:
            run.stop("cancelled", "its tree of runs was stopped")
        return {run.task: run.row.run_id for run in runs}

    def _note_ended(self, row: HandOffRow) -> None:
        self._ended[row.run_id] = row.root_run_id
        if len(self._ended) > ENDED_RUNS:
            self._ended.popitem(last=False)

    def stop_all(self, reason: str, words: str) -> tuple[asyncio.Task[Any], ...]:
        """Refuse new runs and ask all present ones to stop; gives their tasks."""
        self._closing = True
        return self.stop_present(reason, words)

    def stop_present(self, reason: str, words: str) -> tuple[asyncio.Task[Any], ...]:
        """Ask all present runs to stop; gives their tasks."""
        runs = tuple(self._runs.values())
        for run in runs:
            run.stop(reason, words)
        return tuple(run.task for run in runs)

    def task_of(self, call_id: str) -> asyncio.Task[Any] | None:
        """The task that serves a run; None when it is unknown or has ended."""
        run = self._runs.get(call_id)
        return None if run is None else run.task

    @property
    def in_flight(self) -> int:
        """Runs present, waiting ones included."""
        return len(self._runs)

    async def flush_background_tasks(self) -> None:
        """The agent's own flush, where it has one."""
        await _called(getattr(self._agent, "flush_background_tasks", None))

    async def aclose(self) -> None:
        """The agent's own close, where it has one, in the task that built it; no run starts any more."""
        self._closing = True
        await self._lifetime.do(lambda: _called(getattr(self._agent, "aclose", None)))


def _remember(ids: OrderedDict[str, str], name: str, how: Literal["used", "cancelled", "lost"]) -> None:
    ids[name] = how
    if len(ids) > REMEMBERED_IDS:
        ids.popitem(last=False)


async def _called(method: Callable[[], Any] | None) -> None:
    if callable(method):
        result = method()
        if inspect.isawaitable(result):
            await result


async def _outlasting(work: Awaitable[Any]) -> Any:
    """Await ``work`` to its real end: a thread cannot be cancelled, and a run in one is not over before it is."""
    running = asyncio.ensure_future(work)
    cancelled = False
    while True:
        try:
            result = await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.cancelled():
                raise
            cancelled = True
        else:
            if cancelled:
                raise asyncio.CancelledError
            return result


def _reply(row: HandOffRow) -> ReplyRow:
    return ReplyRow(row.call_id, run_id=row.run_id, root_run_id=row.root_run_id, parent_run_id=row.parent_run_id)


def _failed(row: HandOffRow, reason: str, words: str) -> ReplyRow:
    reply = _reply(row)
    reply.reason, reply.failure = reason, words
    return reply
