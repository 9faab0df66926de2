"""Children for many tenants: one fleet a scope, composed on demand, never shared. Owns the controller, not hosts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.blueprint import PoolPlan
from symfonic_ray.cluster.controller import ControllerCount
from symfonic_ray.cluster.directory import Directory
from symfonic_ray.cluster.fault_log import FaultLog, Metrics
from symfonic_ray.cluster.fleet import ScopedFleet
from symfonic_ray.cluster.freezing import Freezing
from symfonic_ray.cluster.gate import Gate
from symfonic_ray.cluster.live_scopes import LiveScope, LiveScopes
from symfonic_ray.cluster.local_child import LocalChild
from symfonic_ray.cluster.plan import pool_plan
from symfonic_ray.cluster.pool_stats import PoolStats, ScopeStats
from symfonic_ray.cluster.remote_call import CallLostError, answer_of
from symfonic_ray.cluster.runner import RemoteChild
from symfonic_ray.cluster.stop_receipt import StopReceipt
from symfonic_ray.cluster.teardown import STOP_GRACE_SECONDS, end_process, kill
from symfonic_ray.cluster.tracing import begin_tracing
from symfonic_ray.cluster.turns import Turns
from symfonic_ray.cluster.watchers import Watcher, Watchers
from symfonic_ray.delegation.adapted import adapt_child
from symfonic_ray.delegation.context import DelegationContext
from symfonic_ray.delegation.declarations import ChildDeclaration, PrebuiltChild
from symfonic_ray.delegation.depth import DepthPolicy
from symfonic_ray.delegation.errors import ChildBuildError, DelegationError
from symfonic_ray.delegation.roster import RosterEntry
from symfonic_ray.delegation.values import TeardownReport
from symfonic_ray.kernel import scope_key as key_of
from symfonic_ray.kernel.rate_limits import RATE_LIMITS

CONTROLLER_SECONDS = 30.0  # starting one process on a busy machine
ASK_AGAIN_SECONDS = 5.0  # a word to it that was lost is said again
CLOSE_MARGIN_SECONDS = 5.0
COMPOSITIONS = 8  # scopes built at one time: more would only share the cores, and run into their deadlines together
HOUSEKEEPING_SECONDS = 0.5


class PoolClosedError(DelegationError):
    """A pool that was closed, or was never entered, is asked for a scope."""

    def __init__(self, pool: str) -> None:
        super().__init__(pool)
        self.pool = pool

    def __str__(self) -> str:
        return f"the pool {self.pool!r} is not open; use it inside its 'async with' block"


class ScopedPool:
    """Made by ``Cluster.pool``; an async context manager. Leaving it closes every scope."""

    def __init__(
        self,
        children: Iterable[ChildDeclaration],
        *,
        max_depth: int,
        placements: Mapping[str, Placement],
        limits: PoolLimits,
        run_limits: RunLimits,
        parent_config: Any,
        parent_provider: Any,
        name: str | None,
    ) -> None:
        self._declared = tuple(children)
        self._plan: PoolPlan = pool_plan(
            self._declared,
            max_depth=DepthPolicy(max_depth).max_depth,
            placements=placements,
            limits=limits,
            run_limits=run_limits,
            parent_config=parent_config,
            parent_provider=parent_provider,
            name=name or f"pool-{os.getpid()}",
        )
        self._turns = {
            child.name: Turns(placements.get(child.name, Placement()).concurrency)
            for child in self._declared
            if isinstance(child, PrebuiltChild)
        }
        self._gate = Gate(limits)
        self._faults = FaultLog(child.name for child in self._declared)
        self._scopes = LiveScopes(
            most=self._plan.most_scopes,
            idle_ttl_seconds=limits.idle_ttl_seconds,
            wait_seconds=limits.build_seconds,
            gate=self._gate,
            close=self._close_key,
        )
        self._freezing = Freezing(self._gate, self._scopes)
        self._watchers = Watchers(self._scopes)
        self._composing = asyncio.Semaphore(COMPOSITIONS)
        self._controller: Any = None
        self._starting = asyncio.Lock()
        self._housekeeping: asyncio.Task[None] | None = None
        self._count = ControllerCount(warm_hosts=0, scopes={})
        self._open = False
        self._ending: asyncio.Task[TeardownReport] | None = None
        self._untell: Callable[[], None] = _nothing

    @property
    def name(self) -> str:
        """The name that process titles carry."""
        return self._plan.name

    async def __aenter__(self) -> ScopedPool:
        self._open = True
        begin_tracing(self._plan.tracing)
        self._untell = RATE_LIMITS.tell(self._rate_limited)
        self._housekeeping = asyncio.create_task(self._keep_house())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def scope(self, scope: Any) -> AsyncIterator[ScopedFleet]:
        """Hold one scope's fleet for a block; entering builds what is not built, leaving only releases the hold.

        A pool that is full closes the scope that has been idle longest, or waits until one is let go.

        Raises:
            ScopeError: for a scope that cannot name one tenant.
            ChildBuildError: if a child could not be built; then nothing of a new scope is left running. Reason
                ``busy`` when the pool stays full.
            PoolClosedError: outside the pool's own block.
        """
        key = key_of(scope)
        if not self._open:
            raise PoolClosedError(self.name)
        live = await self._scopes.held(key, lambda: self._equipped(scope, key))
        try:
            await self._composed(scope, live)
            if not self._open:  # it was closed while this scope was being built
                raise PoolClosedError(self.name)
            live.composed = True
            yield live.fleet
        finally:
            await self._scopes.released(live)

    @property
    def _hosted(self) -> bool:
        """Whether any process is needed at all: not below a ceiling of 0, nor for handed children alone."""
        return bool(self._plan.children) and self._plan.max_depth > 0

    async def _composed(self, scope: Any, live: LiveScope) -> None:
        if not self._hosted:
            return
        controller = await self._controlled()
        live.directory.use(controller)
        seconds = 2 * self._plan.limits.build_seconds + self._closing_seconds()
        returning = self._scopes.was_seen(live.key)
        try:
            async with self._composing:
                failures = await answer_of(controller.compose.remote(scope, live.key, returning), seconds)
        except TimeoutError:
            words = f"the controller gave no answer in {seconds:g} seconds"
            raise ChildBuildError("", "build_timeout", words) from None
        except CallLostError as error:
            words = f"the fleet's controller is gone: {error.fault.words}"
            raise ChildBuildError("", "controller_lost", words) from None
        if failures:
            first = failures[0]
            if not live.composed:  # a scope that others hold goes on with what it has
                live.directory.closed = True
                await self._scopes.gone(live, None)
            raise ChildBuildError(first.child, first.reason, first.cause)

    async def _controlled(self) -> Any:
        """The controller, started at the first scope that needs a host."""
        async with self._starting:
            if not self._open:
                raise PoolClosedError(self.name)
            if self._controller is None:
                controller = self._start_controller()
                try:
                    await self._taken_over(controller)
                except (TimeoutError, CallLostError) as error:
                    await kill(controller)
                    words = f"the fleet's controller did not start within {CONTROLLER_SECONDS:g} seconds"
                    raise ChildBuildError("", "busy", words) from error
                except BaseException:  # cut short: nobody else knows of it
                    end_process(controller)
                    raise
                self._controller = controller
                self._freezing.use(controller)
            return self._controller

    async def _taken_over(self, controller: Any) -> None:
        """Give a new controller its pool.

        Raises:
            TimeoutError, CallLostError: when it does not start.
        """
        async with asyncio.timeout(CONTROLLER_SECONDS):
            while True:
                with suppress(TimeoutError):
                    await answer_of(controller.take.remote(self._plan), ASK_AGAIN_SECONDS)
                    return

    def _start_controller(self) -> Any:
        from symfonic_ray.cluster.on_ray import start_controller

        return start_controller()

    def _equipped(self, scope: Any, key: str) -> LiveScope:
        plan = self._plan
        fleet = ScopedFleet(plan, scope, key, ended=self._faults.record)
        directory = Directory(self._controller, scope, key, plan, self._gate)
        context = DelegationContext(resolve_scope=lambda: scope)
        entries = []
        for child in self._declared:
            runner: LocalChild | RemoteChild
            if isinstance(child, PrebuiltChild):
                adapted = adapt_child(child.name, child.agent, context)
                runner = LocalChild(
                    adapted,
                    self._turns[child.name],
                    max_seconds=plan.run_limits.max_seconds,
                    leases=directory.leases,
                    runs=directory.local_runs,
                    admit=directory.admit_local,
                )
            else:
                runner = RemoteChild(
                    child.name,
                    directory,
                    limits=plan.run_limits,
                    payload_bytes=plan.limits.payload_bytes,
                    keep=fleet.keep,
                )
            entries.append(
                RosterEntry(
                    name=child.name,
                    description=child.description,
                    runner=runner,
                    when_to_use=child.when_to_use,
                    owned=child.owned and self._hosted,
                )
            )
        fleet.equip(entries, directory, context=context)
        self._watchers.attach(key, fleet)
        return LiveScope(key, fleet, directory, last_used=time.monotonic())

    def _rate_limited(self, key: str, seconds: float) -> None:
        """A model in this process was refused for now: the children hear of it."""
        if self._controller is not None:
            self._controller.rate_limited.remote(key, seconds)

    def freeze(self, scope: Any = None) -> None:
        """Take no work of a scope, or of any scope, from now on, and cancel what runs.

        New and waiting hand-offs are refused at once (``REFUSED_OVERLOAD``, reason ``frozen``); what runs is cancelled
        in its host, and a run that does not end within a second is killed with its host. Hosts, memories and holds
        stay. Call it in the pool's own loop; it does not wait.

        Args:
            scope: whose work, live or not; None for the whole pool, scopes that come later included.
        Raises:
            ScopeError: for a scope that cannot name one tenant.
            PoolClosedError: outside the pool's own block.
        """
        self._freezing.freeze(self._freezable(scope))

    def thaw(self, scope: Any = None) -> None:
        """Take work again: of a scope that was frozen by name, or of the pool that was frozen whole.

        Each freeze is ended by its own thaw: ``thaw()`` leaves a scope frozen that was named. One that is not frozen
        is no error.

        Raises:
            ScopeError: for a scope that cannot name one tenant.
            PoolClosedError: outside the pool's own block.
        """
        self._freezing.thaw(self._freezable(scope))

    def _freezable(self, scope: Any) -> str | None:
        key = None if scope is None else key_of(scope)
        if not self._open:
            raise PoolClosedError(self.name)
        return key

    async def close_scope(self, scope: Any) -> TeardownReport:
        """Close a scope at once, whoever holds it; what runs ends in a record (``cancelled``).

        Returns:
            What flush and close came to; the same report again until the scope is opened anew.
        """
        return await self._close_key(key_of(scope))

    async def _close_key(self, key: str) -> TeardownReport:
        live = self._scopes.find(key)
        if live is None:
            return self._scopes.report(key) or TeardownReport(verb="flush+aclose")
        if live.closing is None:
            live.closing = asyncio.create_task(self._closed(key, live))
        return await asyncio.shield(live.closing)

    async def _closed(self, key: str, live: LiveScope) -> TeardownReport:
        live.directory.closed = True
        report = TeardownReport(verb="flush+aclose")
        if self._controller is not None:
            seconds = self._closing_seconds()
            try:
                report = await answer_of(self._controller.close_scope.remote(key), seconds)
            except TimeoutError:
                report = self._lost_report(f"the controller did not end it within {seconds:g} seconds")
            except CallLostError:
                report = self._lost_report("the controller is gone, and the child's process with it")
        self._watchers.forget(key)
        await self._scopes.gone(live, report)
        return report

    def _lost_report(self, words: str) -> TeardownReport:
        names = tuple(child.name for child in self._plan.children)
        failures = tuple(f"{name}: neither flushed nor closed: {words}" for name in names)
        return TeardownReport(verb="flush+aclose", attempted=len(names), failures=failures)

    def _closing_seconds(self) -> float:
        limits = self._plan.limits
        graces = limits.flush_seconds + limits.close_seconds + limits.terminate_seconds
        return graces + STOP_GRACE_SECONDS + CLOSE_MARGIN_SECONDS

    async def close(self) -> TeardownReport:
        """Close every scope and the controller; repeated and concurrent calls get the first one's report."""
        self._open = False
        if self._ending is None:
            self._ending = asyncio.create_task(self._close())
        try:
            return await asyncio.shield(self._ending)
        except asyncio.CancelledError:
            await asyncio.wait((self._ending,))  # bounded by the graces; leaving processes behind is worse
            raise

    async def _close(self) -> TeardownReport:
        self._untell()
        self._freezing.close()
        if self._housekeeping is not None:
            self._housekeeping.cancel()
        async with self._starting:  # a controller that is just being started is there afterwards, and ended below
            pass
        reports = await asyncio.gather(*(self._close_key(key) for key in self._scopes.keys))
        if self._controller is not None:
            with suppress(CallLostError, TimeoutError):  # blank hosts, and scopes whose composition was cut short
                await answer_of(self._controller.close.remote(), self._closing_seconds())
            await kill(self._controller)
        whole = TeardownReport(verb="flush+aclose")
        for report in reports:
            whole = TeardownReport(
                verb=whole.verb,
                attempted=whole.attempted + report.attempted,
                failures=whole.failures + report.failures,
            )
        return whole

    async def _keep_house(self) -> None:
        """Close what is idle, let go of replicas, and hear what lives, now and then."""
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            await self._scopes.close_idle()
            self._faults.sample(self.stats())
            if self._controller is None:
                continue
            with suppress(CallLostError, TimeoutError, DelegationError):
                asked = self._controller.stats.remote(self._faults.heard)
                self._count = await answer_of(asked, HOUSEKEEPING_SECONDS)
                self._faults.hosts(self._count.events)
                for provider, seconds in self._count.paused.items():
                    if not RATE_LIMITS.left(provider):
                        RATE_LIMITS.pause(provider, seconds)
                for key in self._scopes.keys:
                    if (live := self._scopes.find(key)) is not None and live.closing is None:
                        await live.directory.shrink(asyncio.get_running_loop().time())

    def observe(self, watcher: Watcher) -> Callable[[], None]:
        """Tell ``watcher`` of every hand-off of every scope as it starts and ends, of scopes to come too.

        Returns:
            A function that ends it. While a pool is watched, ``fan_out`` takes the slower way of single hand-offs.
        """
        return self._watchers.add(watcher)

    async def cancel(self, scope: Any, root_run_id: str) -> StopReceipt:
        """Stop a tree of runs of a scope, as ``fleet.cancel`` does; an empty receipt for a scope that is not live.

        Raises:
            ScopeError: for a scope that cannot name one tenant.
            HandOffFault: ``controller_lost`` or ``timeout``.
        """
        live = self._scopes.find(key_of(scope))
        return StopReceipt(root_run_id=root_run_id) if live is None else await live.fleet.cancel(root_run_id)

    def report_to(self, metrics: Metrics) -> None:
        """Tell ``metrics`` of every fault from now on, and twice a second what the pool uses."""
        self._faults.report_to(metrics)

    def stats(self) -> PoolStats:
        """What the pool uses now; hosts as the controller told within the last second."""
        in_flight, queued = self._gate.counts()
        scopes = {}
        for key in self._scopes.keys:
            live = self._scopes.find(key)
            if live is not None:
                running, waiting = self._gate.counts(key)
                told = self._count.scopes.get(key)
                scopes[key] = ScopeStats(
                    holds=live.holds,
                    hosts=told.hosts if told is not None else 0,
                    in_flight=running,
                    queued=waiting,
                    closing=live.closing is not None,
                    frozen=self._gate.is_frozen(key),
                    quarantined=told.quarantined if told is not None else {},
                )
        return PoolStats(
            live_scopes=len(self._scopes),
            live_hosts=sum(count.hosts for count in self._count.scopes.values()),
            warm_hosts=self._count.warm_hosts,
            queued=queued,
            in_flight=in_flight,
            scopes=scopes,
            frozen=self._gate.frozen[0],
            delivered=self._faults.delivered,
            undelivered=dict(self._faults.by_reason),
        )


def _nothing() -> None:
    """Ends nothing."""
