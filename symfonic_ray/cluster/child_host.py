"""The actor that hosts the children of one scope. A thin shell: decides nothing that HostedChild can decide.

Runs and builds share the work loop. Control calls have a concurrency group of their own, which in Ray is a thread and
a loop of its own: they answer while the work loop is blocked, and share no asyncio object with it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from symfonic_ray.cluster.batch_deadline import BatchDeadline
from symfonic_ray.cluster.blueprint import BuildFailure, HostBinding
from symfonic_ray.cluster.contained_tasks import contain_exits
from symfonic_ray.cluster.deadline_timer import DeadlineTimer
from symfonic_ray.cluster.envelope import Address, EnvelopeError, HandOffRow, ReplyRow, open_batch, pack_replies
from symfonic_ray.cluster.hosted_child import HostedChild
from symfonic_ray.cluster.outbox import Outbox
from symfonic_ray.cluster.process_title import ProcessTitle, Titles
from symfonic_ray.cluster.stop_receipt import StoppedAtHost
from symfonic_ray.cluster.tracing import begin_tracing
from symfonic_ray.kernel.rate_limits import RATE_LIMITS
from symfonic_ray.kernel.spans import current_tracer
from symfonic_ray.kernel.text import failure_line

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])
CONTROL: list[Callable[..., Any]] = []
QUICK_TICKS = 3  # what quick children answer within goes back at once, without waiting for others
COALESCE_SECONDS = 0.002  # replies that end within it go together: a call of its own for each costs a millisecond
SPAN_FLUSH_SECONDS = 1.0
FORGET_SECONDS = 300.0  # replies that nobody has fetched for so long were for a caller that is gone
BLOCKING_RUNS = 64  # threads for agents whose run is a plain function; asyncio's own default is 6 on 2 cores


def control(method: Method) -> Method:
    """Mark a method that answers beside the work loop, in a concurrency group of its own."""
    CONTROL.append(method)
    return method


class ChildHost:
    """Blank until ``bind``; then of one scope and one generation for the rest of its life.

    Args:
        titles: where its process shows what it is; None for a host that has no process of its own.
    """

    def __init__(self, titles: Titles | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._binding: HostBinding | None = None
        self._children: dict[str, HostedChild] = {}
        self._outboxes: dict[str, Outbox] = {}
        self._timer = DeadlineTimer(self._loop)
        self._of_its_own = titles is not None
        self._title = ProcessTitle(self._loop, titles)
        contain_exits(self._loop)
        self._loop.call_soon(_host_fleet)  # while it is blank: a binding is waited for
        self._loop.set_default_executor(ThreadPoolExecutor(BLOCKING_RUNS, thread_name_prefix="child"))

    # ---- work group

    async def bind(self, binding: HostBinding) -> tuple[int, tuple[BuildFailure, ...]]:
        """Build this host's children; gives its process id and what could not be built."""
        fleet_inside = _host_fleet().fleet_inside
        if self._binding is not None:
            return os.getpid(), (BuildFailure("", "scope_mismatch", "this host is bound already"),)
        self._binding = binding
        plan = binding.plan
        _import_from(plan.import_paths)
        self._title.set(plan.name, binding.scope_key, binding.group)
        if plan.tracing is not None and self._of_its_own:
            begin_tracing(plan.tracing)
        if self._of_its_own:  # pauses belong to a process, and are told to the fleet by way of the controller
            for key, seconds in binding.paused.items():
                RATE_LIMITS.pause(key, seconds)
            RATE_LIMITS.tell(lambda key, seconds: binding.controller.rate_limited.remote(key, seconds))
        builds = []
        for blueprint in plan.group(binding.group):
            child = self._children[blueprint.name] = HostedChild(
                blueprint, scope=binding.scope, answer_bytes=plan.limits.answer_bytes, rebuilt=binding.rebuilt
            )
            builds.append(child.build(fleet_inside(binding, blueprint)))
        failures = await asyncio.gather(*builds)
        if self._of_its_own:
            gc.freeze()  # 66,000 objects of Ray and more of the agents' libraries: each full collection took 20 ms
        self._title.assert_soon()
        return os.getpid(), tuple(failure for failure in failures if failure is not None)

    async def run(self, batch: bytes) -> bytes:
        """The replies to a sealed batch.

        Raises:
            EnvelopeError: for a batch that is not this host's; no child's code has run.
        """
        child, rows = self._opened(batch)
        if len(rows) == 1:
            replies = [await self._served(child, rows[0])]  # in Ray's own task: a lone call saves the switch
        else:
            replies = await asyncio.gather(*(self._started(self._served(child, row)) for row in rows))
        self._title.assert_soon()
        assert self._binding is not None
        return pack_replies(self._address(child.name), replies)

    async def accept(self, courier: str, batch: bytes) -> bytes:
        """Take a sealed batch; replies that ``courier`` is owed, of this batch or another, as soon as some are in.

        Empty when none came in time, or when a later call of the courier waits for them instead.

        Raises:
            EnvelopeError: for a batch that is not this host's; no child's code has run.
        """
        child, rows = self._opened(batch)
        outbox = self._outbox(courier, child.name)
        outbox.owed += len(rows)
        due = BatchDeadline(self._timer, child, rows)
        left = len(rows)

        async def serve(row: HandOffRow) -> None:
            nonlocal left
            reply = await child.serve(row)
            left -= 1
            if not left:
                due.drop()
            outbox.put(reply)

        for row in rows:
            self._started(serve(row))  # its child holds the task as long as it runs
        for _ in range(QUICK_TICKS):
            await asyncio.sleep(0)
            if not left:
                break
        parked = left and not outbox.filled
        replies = await outbox.some(coalesce_seconds=COALESCE_SECONDS) if parked else outbox.taken()
        self._title.assert_soon()
        return self._packed(child.name, replies)

    async def fetch(self, courier: str) -> bytes:
        """Replies that ``courier`` is owed, as of ``accept``, where it has nothing to send."""
        outbox = self._outboxes.get(courier)
        if outbox is None:  # nothing was ever taken from it
            return b""
        outbox.touched_at = self._loop.time()
        replies = await outbox.some(coalesce_seconds=COALESCE_SECONDS)
        self._title.assert_soon()
        return self._packed(outbox.child, replies)

    def _outbox(self, courier: str, child: str) -> Outbox:
        now = self._loop.time()
        outbox = self._outboxes.get(courier)
        if outbox is None:
            for name, other in tuple(self._outboxes.items()):  # couriers of callers that are gone never say so
                if now - other.touched_at > FORGET_SECONDS and not other.owed:
                    del self._outboxes[name]
            outbox = self._outboxes[courier] = Outbox(child)
        outbox.touched_at = now
        return outbox

    def _packed(self, child: str, replies: list[ReplyRow]) -> bytes:
        return pack_replies(self._address(child), replies) if replies else b""

    def _started(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task past the factory that contains exits: ``HostedChild`` contains its own."""
        return asyncio.Task(work, loop=self._loop)

    def _opened(self, batch: object) -> tuple[HostedChild, list[HandOffRow]]:
        binding = self._binding
        if binding is None:
            raise EnvelopeError("scope_mismatch", "this host is bound to no scope")
        address, rows = open_batch(batch, key=binding.plan.key)
        child = self._children.get(address.child)
        if child is None or address != self._address(address.child):
            raise EnvelopeError("scope_mismatch", "it is for another child, scope or generation than this host's")
        for row in rows:
            if row.agent_depth > binding.plan.max_depth:
                raise EnvelopeError("depth", f"depth {row.agent_depth} is below the ceiling {binding.plan.max_depth}")
        return child, rows

    async def _served(self, child: HostedChild, row: HandOffRow) -> ReplyRow:
        due = BatchDeadline(self._timer, child, [row])
        try:
            return await child.serve(row)
        finally:
            due.drop()

    def _address(self, child: str) -> Address:
        assert self._binding is not None
        return Address(self._binding.scope_key, child, self._binding.generation)

    # ---- control group

    @control
    async def ping(self) -> int:
        """The process id; answers also while the work loop is blocked."""
        return os.getpid()

    @control
    async def pause(self, key: str, seconds: float) -> None:
        """Let no child ask a provider for a while."""
        RATE_LIMITS.pause(key, seconds)

    @control
    async def in_flight(self) -> int:
        """Runs present, waiting ones included."""
        return sum(child.in_flight for child in self._children.values())

    @control
    async def cancel(self, child: str, call_ids: tuple[str, ...], grace_seconds: float) -> tuple[str, ...]:
        """Stop runs; gives the call ids that still run after the grace, all of them when the work loop is blocked."""
        try:
            return await self._on_work_loop(self._cancel(child, call_ids, grace_seconds), grace_seconds + 0.2)
        except TimeoutError:
            return call_ids

    async def _cancel(self, child: str, call_ids: tuple[str, ...], grace_seconds: float) -> tuple[str, ...]:
        hosted = self._children.get(child)
        if hosted is None:
            return ()
        tasks = {}
        for call_id in call_ids:
            if hosted.stop(call_id, "cancelled", "the caller cancelled it") and (task := hosted.task_of(call_id)):
                tasks[task] = call_id
        if not tasks:
            return ()
        _, running = await asyncio.wait(tasks, timeout=grace_seconds)
        return tuple(tasks[task] for task in running)

    @control
    async def cancel_below(self, runs: tuple[str, ...]) -> None:
        """Stop every run below one of ``runs``, and refuse those that arrive later; does not wait for them to end."""
        self._loop.call_soon_threadsafe(self._cancel_below, runs)

    def _cancel_below(self, runs: tuple[str, ...]) -> None:
        for child in self._children.values():
            child.stop_below(frozenset(runs))

    @control
    async def refuse_tree(self, root_run_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Refuse a tree's runs from now on; run ids of those that are present, and of those that have ended."""
        children = tuple(self._children.values())
        for child in children:
            self._loop.call_soon_threadsafe(child.refuse_tree, root_run_id)
        present = tuple(run_id for child in children for run_id in child.present(root_run_id))
        return present, tuple(run_id for child in children for run_id in child.ended(root_run_id))

    @control
    async def stop_tree(self, root_run_id: str, grace_seconds: float) -> StoppedAtHost:
        """Stop a tree's runs; those that still run after the grace are all of them when the work loop is blocked."""
        try:
            return await self._on_work_loop(self._stop_tree(root_run_id, grace_seconds), grace_seconds + 0.2)
        except TimeoutError:
            children = tuple(self._children.values())
            return StoppedAtHost(running=tuple(one for child in children for one in child.present(root_run_id)))

    async def _stop_tree(self, root_run_id: str, grace_seconds: float) -> StoppedAtHost:
        tasks: dict[asyncio.Task[Any], str] = {}
        for child in self._children.values():
            tasks |= child.stop_tree(root_run_id)
        if not tasks:
            return StoppedAtHost()
        ended, running = await asyncio.wait(tasks, timeout=grace_seconds)
        return StoppedAtHost(
            stopped=tuple(tasks[task] for task in ended), running=tuple(tasks[task] for task in running)
        )

    @control
    async def freeze(self, frozen: bool, grace_seconds: float) -> bool:
        """Refuse work and stop present runs, or take work again; False when some still run after the grace."""
        children = tuple(self._children.values())
        for child in children:
            child.frozen = frozen
        if not frozen:
            return True
        try:
            return await self._on_work_loop(self._stop_present(grace_seconds), grace_seconds + 0.2)
        except TimeoutError:
            return not any(child.in_flight for child in children)

    async def _stop_present(self, grace_seconds: float) -> bool:
        children = tuple(self._children.values())
        tasks = [task for child in children for task in child.stop_present("cancelled", "its scope was frozen")]
        if not tasks:
            return True
        _, running = await asyncio.wait(tasks, timeout=grace_seconds)
        return not running

    @control
    async def stop_runs(self, grace_seconds: float) -> bool:
        """Refuse new runs and stop present ones; False when some still run after the grace."""
        try:
            return await self._on_work_loop(self._stop_runs(grace_seconds), grace_seconds + 0.2)
        except TimeoutError:
            return False

    async def _stop_runs(self, grace_seconds: float) -> bool:
        tasks = [t for child in self._children.values() for t in child.stop_all("cancelled", "the scope was closed")]
        if not tasks:
            return True
        _, running = await asyncio.wait(tasks, timeout=grace_seconds)
        return not running

    @control
    async def flush(self, child: str, grace_seconds: float) -> str:
        """Let a child finish its background work; gives what went wrong, empty when nothing did."""
        return await self._last_words(self._children[child].flush_background_tasks(), grace_seconds)

    @control
    async def close(self, child: str, grace_seconds: float) -> str:
        """Close a child; gives what went wrong, empty when nothing did. Spans that have ended are exported too."""
        words = await self._last_words(self._children[child].aclose(), grace_seconds)
        if (tracer := current_tracer()) is not None and self._of_its_own:
            await asyncio.to_thread(tracer.flush, SPAN_FLUSH_SECONDS)
        return words

    async def _last_words(self, work: Coroutine[Any, Any, None], grace_seconds: float) -> str:
        try:
            return await self._on_work_loop(_outcome_of(work, grace_seconds), grace_seconds + 0.2)
        except TimeoutError:
            return f"its event loop is blocked; it was given {grace_seconds:g} seconds"

    async def _on_work_loop(self, work: Coroutine[Any, Any, T], bound_seconds: float) -> T:
        """Do ``work`` on the other loop; ``TimeoutError`` when that loop does not get to it in time."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return await asyncio.wait_for(asyncio.wrap_future(future), bound_seconds)


def _host_fleet() -> ModuleType:
    """The room of a host's own hand-offs, imported after the process has said that it is up."""
    return import_module("symfonic_ray.cluster.host_fleet")


def _import_from(places: tuple[str, ...]) -> None:
    sys.path.extend(place for place in places if place not in sys.path and Path(place).is_dir())


async def _outcome_of(work: Coroutine[Any, Any, None], grace_seconds: float) -> str:
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait([task], timeout=grace_seconds)
    if not done:
        task.cancel()  # not awaited: one that ignores its cancellation must not hold up the others
        return f"did not end within {grace_seconds:g} seconds"
    if task.cancelled():
        return "was cancelled by the child itself"
    error = task.exception()
    return "" if error is None else failure_line(error)
