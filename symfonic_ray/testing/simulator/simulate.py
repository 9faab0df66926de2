"""A fleet under seeded faults, on a virtual clock, in milliseconds of real time. Draws what happens; judges nothing.

Pool, controller, directory, courier, host, admission and lifecycle are the very code that runs on a cluster; only
processes and messages are simulated. The same seed gives the same history.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.faults import TABLE
from symfonic_ray.cluster.fleet import ScopedFleet
from symfonic_ray.delegation.declarations import ChildDeclaration, PrebuiltChild, ScopedChild
from symfonic_ray.delegation.errors import ChildBuildError, DelegationError
from symfonic_ray.kernel.text import failure_line
from symfonic_ray.testing.simulator.checker import Promises, Violation, check
from symfonic_ray.testing.simulator.faults import Faults
from symfonic_ray.testing.simulator.history import History
from symfonic_ray.testing.simulator.sample import SAMPLE_PLACEMENTS, sample_children
from symfonic_ray.testing.simulator.simulated_pool import SimulatedPool
from symfonic_ray.testing.simulator.transport import NODES, Network
from symfonic_ray.testing.simulator.virtual_loop import StalledError, VirtualLoop, virtual_time
from symfonic_ray.testing.simulator.watching import BUILDS, Watched

LIMITS = PoolLimits(
    max_in_flight=24,
    max_in_flight_per_scope=8,
    max_queued_per_scope=16,
    build_seconds=3.0,
    flush_seconds=1.0,
    close_seconds=1.0,
    terminate_seconds=0.5,
    idle_ttl_seconds=60.0,
)
LATE_SECONDS = 8.0
"""Past its own time a hand-off may wait, one after another, for its stop and for the controller's word (6 s here)."""
END_SECONDS = 600.0  # of virtual time: by then every bounded wait has ended


class SimulationError(AssertionError):
    """A history that breaks a promise, with the command that shows it again."""

    def __init__(self, seed: int, steps: int, violations: tuple[str, ...]) -> None:
        super().__init__(seed, steps, violations)
        self.seed, self.steps, self.violations = seed, steps, violations

    def __str__(self) -> str:
        first = "\n  ".join(self.violations[:5])
        again = f"scripts/simulate --seed {self.seed} --steps {self.steps}"
        return f"seed {self.seed} breaks a promise:\n  {first}\nagain, for the sample fleet: {again}"


def simulate(
    children: Iterable[ChildDeclaration] = (),
    *,
    seed: int,
    steps: int = 200,
    scopes: int = 3,
    placements: Mapping[str, Placement] = {},  # read only
    limits: PoolLimits = LIMITS,
    max_depth: int = 3,
    faults: Faults = Faults(),  # noqa: B008  # frozen
    task: Callable[[random.Random, int], str] = lambda chance, number: f"task {number}",
) -> History:
    """What happens to a fleet in ``steps`` drawn steps.

    Args:
        children: ``ScopedChild`` and ``PrebuiltChild``; none for a sample of three.
        seed: the same one gives the same history.
        steps: hand-offs, fan-outs, cancellations, closings and faults.
        scopes: tenants.
        placements: by child name.
        limits: of the pool.
        max_depth: of the pool.
        faults: how often what goes wrong.
        task: gives the text of a hand-off; each must be different.
    Returns:
        The history; ``check`` judges it.
    Raises:
        TypeError: for a child that another process would have to make by a provider.
    """
    loop = VirtualLoop()
    history = History(loop.time)
    loop.set_exception_handler(lambda _, facts: _noted(history, facts))
    chance = random.Random(seed)
    declared = tuple(children)
    if not declared:
        declared, placements = sample_children(random.Random(chance.random())), SAMPLE_PLACEMENTS
    try:
        with virtual_time(loop):
            watched = [_watched(child, history, chance, faults) for child in declared]
            world = _World(loop, history, chance, faults, scopes, task)
            world.names = tuple(child.name for child in declared)
            try:
                loop.run_until_complete(world.run(watched, placements, limits, max_depth, steps))
            except StalledError as stalled:
                history.error(str(stalled))
            loop.set_exception_handler(lambda *_: None)
            history.close()
            _swept(loop)
    finally:
        BUILDS.clear()
        loop.close()
    return history


def judged(history: History, placements: Mapping[str, Placement] = SAMPLE_PLACEMENTS) -> tuple[Violation, ...]:
    """What a simulated history breaks, held to the promises of its placements."""
    promises = Promises(
        late_seconds=LATE_SECONDS,
        concurrency={name: placed.concurrency for name, placed in placements.items() if not placed.delegates_to},
    )
    return check(history, promises)


def assert_sound(
    history: History, *, seed: int, steps: int = 200, placements: Mapping[str, Placement] = SAMPLE_PLACEMENTS
) -> None:
    """Raise if a simulated history breaks a promise.

    Raises:
        SimulationError: with what is broken and the command that shows it again.
    """
    if broken := judged(history, placements):
        raise SimulationError(seed, steps, tuple(map(str, broken)))


class _World:
    """One simulation: who does what next."""

    def __init__(
        self,
        loop: VirtualLoop,
        history: History,
        chance: random.Random,
        faults: Faults,
        scopes: int,
        task: Callable[[random.Random, int], str],
    ) -> None:
        self._loop, self._history, self._chance, self._faults = loop, history, chance, faults
        self._task = task
        self._network = Network(loop, chance, faults)
        self._tenants = [f"tenant-{number}" for number in range(scopes)]
        self._fleets: dict[str, ScopedFleet] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._working: dict[asyncio.Task[None], None] = {}
        self._numbers = 0
        self.names: tuple[str, ...] = ()

    async def run(
        self,
        children: list[ChildDeclaration],
        placements: Mapping[str, Placement],
        limits: PoolLimits,
        max_depth: int,
        steps: int,
    ) -> None:
        """Do all steps, let everything end, and close."""
        run_limits = RunLimits(max_seconds=30.0)
        self._limits = limits
        pool = SimulatedPool(
            self._network, children, placements=placements, limits=limits, run_limits=run_limits, max_depth=max_depth
        )
        faults = self._faults
        acts: list[tuple[float, Callable[[], None]]] = [
            (66.0, lambda: self._spawn(self._hand_off())),
            (8.0, lambda: self._spawn(self._fan_out())),
            (8.0, self._cancel_one),
            (2.0, lambda: self._spawn(self._close_one())),
            (16.0, lambda: None),
            (faults.crashes, self._crash),
            (faults.hangs, self._hang),
            (faults.nodes_lost, self._lose_node),
            (faults.clock_jumps, self._jump),
            (faults.controller_lost, self._lose_controller),
        ]
        weights = [weight for weight, _ in acts]
        async with AsyncExitStack() as self._stack:
            self._pool = await self._stack.enter_async_context(pool)
            for _ in range(steps):
                act = self._chance.choices(acts, weights)[0][1]
                act()
                await asyncio.sleep(self._chance.choice((0.0, 0.001, 0.02, 0.2)))
            if self._working:
                await asyncio.wait(tuple(self._working), timeout=END_SECONDS)
            self._numbers += 1
            self._history.invoke("closing", scope_key="", child="", task="", seconds=LATE_SECONDS)
        self._history.done("closing")

    # ---- what tenants do

    async def _fleet(self, tenant: str) -> ScopedFleet | None:
        async with self._opening.setdefault(tenant, asyncio.Lock()):
            if tenant not in self._fleets:
                operation = self._next("open")
                bound = 2 * self._limits.build_seconds + 10.0
                self._history.invoke(operation, scope_key=tenant, child="", task="", seconds=bound)
                try:
                    self._fleets[tenant] = await self._stack.enter_async_context(self._pool.scope(tenant))
                except (ChildBuildError, DelegationError) as error:
                    self._history.refused(operation, getattr(error, "reason", "pool closed"))
                    return None
                except asyncio.CancelledError:
                    self._history.cancelled(operation)
                    raise
                self._history.done(operation, tenant)
            return self._fleets[tenant]

    async def _hand_off(self) -> None:
        tenant, name = self._chance.choice(self._tenants), self._chance.choice(self.names)
        seconds = self._chance.choice((0.3, 1.0, 4.0))
        fleet = await self._fleet(tenant)
        if fleet is None:
            return
        operation = self._next("call")
        text = self._task(self._chance, self._numbers)
        self._history.invoke(operation, scope_key=tenant, child=name, task=text, seconds=seconds)
        try:
            record = await fleet.delegate(name, text, timeout_seconds=seconds)
        except asyncio.CancelledError:
            self._history.cancelled(operation)
            raise
        self._history.record(operation, record)

    async def _fan_out(self) -> None:
        tenant, name = self._chance.choice(self._tenants), self._chance.choice(self.names)
        fleet = await self._fleet(tenant)
        if fleet is None:
            return
        tasks = []
        for _ in range(self._chance.randint(2, 6)):
            operation = self._next("fan")
            tasks.append((operation, self._task(self._chance, self._numbers)))
        for operation, text in tasks:  # a queue of them, each up to the tree's own time
            self._history.invoke(operation, scope_key=tenant, child=name, task=text, seconds=30.0 * len(tasks))
        ahead = [operation for operation, _ in tasks]
        try:
            async for record in fleet.fan_out([(name, text) for _, text in tasks], ordered=True):
                self._history.record(ahead.pop(0), record)
        except asyncio.CancelledError:
            for operation in ahead:
                self._history.cancelled(operation)
            raise

    def _cancel_one(self) -> None:
        if self._working:
            self._chance.choice(tuple(self._working)).cancel()

    async def _close_one(self) -> None:
        tenant = self._chance.choice(self._tenants)
        operation = self._next("close")
        self._history.invoke(operation, scope_key=tenant, child="", task="", seconds=10.0)
        self._fleets.pop(tenant, None)
        try:
            await self._pool.close_scope(tenant)
        except asyncio.CancelledError:
            self._history.cancelled(operation)
            raise
        self._history.done(operation, tenant)

    # ---- what goes wrong

    def _crash(self) -> None:
        if hosts := self._network.hosts():
            victim = self._chance.choice(hosts)
            self._history.fault(f"process {victim.number} dies")
            victim.lose(TABLE[self._chance.choice(("ActorDiedError", "OutOfMemoryError"))])

    def _hang(self) -> None:
        if hosts := self._network.hosts():
            victim = self._chance.choice(hosts)
            self._history.fault(f"process {victim.number} stops")
            victim.stopped = True

    def _lose_node(self) -> None:
        node = self._chance.randrange(1, NODES)
        self._history.fault(f"node {node} is lost")
        for host in self._network.hosts():
            if host.node == node:
                host.lose(TABLE["NodeDiedError"])

    def _jump(self) -> None:
        seconds = self._chance.choice((0.5, 2.0, 10.0))
        self._history.jump(seconds)
        self._loop.pass_time(seconds)

    def _lose_controller(self) -> None:
        for process in (*self._network.controllers, *self._network.hosts()):  # it owns them
            process.lose(TABLE["ActorDiedError"])
        self._history.fault("the controller dies")

    # ---- bookkeeping

    def _next(self, kind: str) -> str:
        self._numbers += 1
        return f"{kind} {self._numbers}"

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._working[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._working.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._history.error(failure_line(error))


def _watched(child: ChildDeclaration, history: History, chance: random.Random, faults: Faults) -> ChildDeclaration:
    if isinstance(child, ScopedChild):
        return replace(child, build=BUILDS.hold(child.name, child.build, history, chance, faults))
    if isinstance(child, PrebuiltChild):
        return replace(child, agent=Watched(child.agent, child.name, None, child.name, history))
    raise TypeError(f"{child.name}: a {type(child).__name__} is made by its provider; simulate a ScopedChild instead")


def _noted(history: History, facts: dict[str, Any]) -> None:
    error = facts.get("exception")
    if error is not None:
        history.error(f"{facts.get('message', '')}: {failure_line(error)}")


def _swept(loop: VirtualLoop) -> None:
    """End what is left: ghosts of dead processes, and whatever hangs by design."""
    for _ in range(100):
        left = asyncio.all_tasks(loop)
        if not left:
            return
        for task in left:
            task.cancel()
        with suppress(StalledError, asyncio.CancelledError):
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
