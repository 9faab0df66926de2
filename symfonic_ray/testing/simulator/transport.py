"""Processes and calls between them, without processes: what stands where Ray would. Decides no hand-off.

A handle answers ``handle.method.remote(...)`` with something to await, as an actor's does. Messages take time, may be
lost, late or doubled; a process may die with all that it holds, or stop. What a dead process still does in memory
reaches nobody.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable
from typing import Any

from symfonic_ray.admission import Placement
from symfonic_ray.cluster.child_host import ChildHost
from symfonic_ray.cluster.controller import FleetController
from symfonic_ray.cluster.faults import TABLE, Fault
from symfonic_ray.cluster.teardown import end_process
from symfonic_ray.testing.simulator.faults import Faults
from symfonic_ray.testing.simulator.virtual_loop import VirtualLoop

NODES = 3
DEATH_SECONDS = 0.01  # until callers hear of a death

HERE: contextvars.ContextVar[Process | None] = contextvars.ContextVar("symfonic_ray_simulated_process", default=None)


class ProcessLostError(Exception):
    """What a call to a lost process raises, as Ray's own errors are: by the fault that it stands for."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return self.fault.words


class Process:
    """One simulated process."""

    def __init__(self, number: int, node: int) -> None:
        self.number = number
        self.node = node
        self.target: Any = None
        """The host or the controller in it; None until it is up."""
        self.stopped = False
        """Whether it is frozen: it takes nothing and says nothing."""
        self.lost: Fault | None = None
        self.out: dict[asyncio.Future[Any], None] = {}
        """Calls to it without an answer, in the order of asking."""
        self.last_fetched: bytes | None = None
        self.up: asyncio.Event = asyncio.Event()

    def lose(self, fault: Fault) -> None:
        """End it: every call that it holds fails a moment later."""
        if self.lost is None:
            self.lost = fault
            loop = asyncio.get_running_loop()
            for call in tuple(self.out):
                loop.call_later(DEATH_SECONDS, fail, call, fault)


class Handle:
    """What a caller holds of a process."""

    def __init__(self, network: Network, process: Process) -> None:
        self.network = network
        self.process = process

    def __getattr__(self, name: str) -> Method:
        return Method(self, name)


class Method:
    """One method of a handle."""

    __slots__ = ("_handle", "_name")

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name

    def options(self, **_: Any) -> Method:
        """The same method: options are Ray's."""
        return self

    def remote(self, *args: Any) -> asyncio.Future[Any]:
        """Call it; what comes back is to be awaited."""
        return self._handle.network.call(self._handle.process, self._name, args)


class Network:
    """All processes of one simulation.

    Args:
        loop: the clock.
        chance: the only source of chance.
        faults: how often what goes wrong.
    """

    def __init__(self, loop: VirtualLoop, chance: random.Random, faults: Faults) -> None:
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self.processes: list[Process] = []
        self.controllers: list[Process] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    def hosts(self) -> list[Process]:
        """Host processes that live."""
        return [one for one in self.processes if one.lost is None]

    def start(self, make: Callable[[Handle], Any], *, node: int) -> Handle:
        """A new process; ``make`` gives what lives in it, once it is up."""
        process = Process(len(self.processes) + len(self.controllers), node)
        handle = Handle(self, process)
        context = contextvars.Context()
        context.run(HERE.set, process)

        def up() -> None:
            process.target = make(handle)
            process.up.set()

        self._loop.call_later(self._chance.uniform(0.02, 0.3), up, context=context)
        return handle

    def start_controller(self) -> Handle:
        """A controller, on the driver's own node."""
        handle = self.start(lambda me: FleetController(SimulatedPlaces(self, me)), node=0)
        self.controllers.append(handle.process)
        return handle

    def start_host(self) -> Handle:
        """A blank host, on any node."""
        handle = self.start(lambda me: ChildHost(), node=self._chance.randrange(NODES))
        self.processes.append(handle.process)
        return handle

    def call(self, process: Process, name: str, args: tuple[Any, ...]) -> asyncio.Future[Any]:
        """One call from whoever runs now."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        caller = HERE.get()
        if caller is not None and caller.lost is not None:
            return answer  # a dead process reaches nobody
        if process.lost is not None:
            self._loop.call_later(DEATH_SECONDS, fail, answer, process.lost)
            return answer
        process.out[answer] = None
        answer.add_done_callback(lambda _: process.out.pop(answer, None))
        if (delay := self._delay()) is not None:
            self._loop.call_later(delay, self._arrive, process, name, args, answer)
            if name in ("run", "accept") and self._chance.random() < self._faults.twice:
                self._loop.call_later(delay + 0.001, self._arrive, process, name, args, self._loop.create_future())
        return answer

    def _delay(self) -> float | None:
        """Seconds until a message arrives; None for never."""
        draw = self._chance.random()
        if draw < self._faults.lost:
            return None
        if draw < self._faults.lost + self._faults.late:
            return 0.1 + 4.0 * self._chance.random()
        return 0.0002 + 0.002 * self._chance.random()

    def _arrive(self, process: Process, name: str, args: tuple[Any, ...], answer: asyncio.Future[Any]) -> None:
        if process.lost is not None or process.stopped:
            return
        context = contextvars.Context()
        context.run(HERE.set, process)
        task = self._loop.create_task(self._served(process, name, args, answer), context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, process: Process, name: str, args: tuple[Any, ...], answer: asyncio.Future[Any]) -> None:
        if process.target is None:
            await process.up.wait()
        if name == "__ray_terminate__":
            process.lose(TABLE["ActorDiedError"])
            return
        raised: Exception | None = None
        result: Any = None
        try:
            result = await getattr(process.target, name)(*args)
        except Exception as error:
            raised = error
        if name == "fetch" and result:
            if process.last_fetched is not None and self._chance.random() < self._faults.twice:
                self._loop.call_later(0.0, self._arrive, process, "fetch", args, answer)
                result = process.last_fetched  # given again; the true one comes too late for this call
            process.last_fetched = result
        if (delay := self._delay()) is not None:
            self._loop.call_later(delay, self._answered, process, answer, result, raised)

    def _answered(self, process: Process, answer: asyncio.Future[Any], result: Any, raised: Exception | None) -> None:
        if answer.done() or process.lost is not None or process.stopped:
            return
        if raised is None:
            answer.set_result(result)
        else:
            answer.set_exception(raised)
            answer.exception()  # whoever stopped waiting for it need not be told


class SimulatedPlaces:
    """Where a controller starts its hosts."""

    def __init__(self, network: Network, me: Handle) -> None:
        self._network = network
        self._me = me

    def controller(self) -> Handle:
        """The controller's own handle."""
        return self._me

    def start(self, placement: Placement) -> Handle:
        """A blank host."""
        return self._network.start_host()

    def why_not_placed(self, placement: Placement) -> tuple[str, str]:
        """Always ``busy``: any placement fits somewhere here."""
        return "busy", "the simulated cluster did not start it in time"


@end_process.register
def _(handle: Handle) -> None:
    caller = HERE.get()
    if caller is None or caller.lost is None:
        handle.process.lose(TABLE["ActorDiedError"])


def fail(call: asyncio.Future[Any], fault: Fault) -> None:
    """Let a call end in a fault, unless it has ended."""
    if not call.done():
        call.set_exception(ProcessLostError(fault))
        call.exception()
