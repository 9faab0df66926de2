"""What a stop says of a tree, from what each host says: every run in one place, and no host left that does not obey."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from symfonic_ray.admission import Placement, PoolLimits, RestartHistory, RestartIntensity, RunLimits
from symfonic_ray.cluster.blueprint import BuildFailure, ChildBlueprint, PoolPlan, Seat
from symfonic_ray.cluster.seats import ScopeSeats
from symfonic_ray.cluster.stop_receipt import StoppedAtHost, StopReceipt
from symfonic_ray.cluster.teardown import end_process

NO_PROCESS = 2**22 + 1  # above any process id of Linux


class Method:
    """A method as a remote handle has it."""

    def __init__(self, body: Callable[..., Awaitable[Any]]) -> None:
        self.body = body

    def remote(self, *given: Any) -> Awaitable[Any]:
        return asyncio.ensure_future(self.body(*given))


class Host:
    """A host of a scope: says what it was made to say; one that is dead raises."""

    def __init__(
        self, present: tuple[str, ...], ended: tuple[str, ...], end: StoppedAtHost | None, log: list[str]
    ) -> None:
        self.told = (present, ended)
        self.end = end
        self.log = log
        self.killed = False
        self.refuse_tree = Method(self._refuse_tree)
        self.stop_tree = Method(self._stop_tree)
        self.ping = Method(self._ping)

    async def _refuse_tree(self, root_run_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        await asyncio.sleep(0.01 * len(self.told[0]))
        self.log.append("refuse")
        return self.told

    async def _stop_tree(self, root_run_id: str, grace_seconds: float) -> StoppedAtHost:
        self.log.append("stop")
        if self.end is None:
            raise ConnectionError("the host is gone")
        return self.end

    async def _ping(self) -> int:
        raise ConnectionError("the host is gone")


@end_process.register
def _(handle: Host) -> None:
    handle.killed = True


class Born:
    """Gives the hosts that it was given, one after the other, then no more."""

    controller = None

    def __init__(self, hosts: list[Host]) -> None:
        self.seats = [Seat(host, number, NO_PROCESS) for number, host in enumerate(hosts)]

    async def host(self, binding_of: object) -> Seat | BuildFailure:
        return self.seats.pop(0) if self.seats else BuildFailure("reader", "busy", "there are no more")


async def scope_with(hosts: list[Host], history: RestartHistory) -> ScopeSeats:
    """The seats of a scope with these hosts for its one child."""
    placement = Placement(replicas=(len(hosts), len(hosts)))
    child = ChildBlueprint(name="reader", description="", when_to_use=None, parcel="", placement=placement)
    plan = PoolPlan(name="p", key=b"k", children=(child,), max_depth=3, limits=PoolLimits(), run_limits=RunLimits())
    born: Any = Born(hosts)
    seats = ScopeSeats("acme", "acme", plan, born, returning=False, history_of=lambda _: history, note=lambda *_: None)
    await seats.seats("reader")
    assert seats.hosts == len(hosts)
    return seats


async def test_each_run_of_a_tree_is_in_one_place_of_the_receipt_whatever_its_host_says() -> None:
    log: list[str] = []
    hosts = [
        Host(("a", "b"), ("old",), StoppedAtHost(stopped=("a",)), log),  # b ended before it was asked
        Host(("c", "d"), (), StoppedAtHost(stopped=("c", "late"), running=("d",)), log),
        Host(("e",), (), None, log),
        Host((), (), StoppedAtHost(), log),
    ]
    history = RestartHistory(RestartIntensity(most=1))
    receipt = await (await scope_with(hosts, history)).stop_tree("root")
    assert receipt == StopReceipt(
        root_run_id="root", stopped=("a", "c", "late"), killed=("d", "e"), finished=("b", "old"), spent_after=1
    )
    assert [host.killed for host in hosts] == [False, True, True, False]
    assert history.is_quiet(now=time.monotonic()), "a stop is no fault of the child"


async def test_every_host_refuses_the_tree_before_the_first_run_is_stopped() -> None:
    log: list[str] = []
    hosts = [Host(tuple("abc")[:count], (), StoppedAtHost(), log) for count in (0, 3, 1)]
    seats = await scope_with(hosts, RestartHistory(RestartIntensity()))
    await seats.stop_tree("root")
    assert log == ["refuse"] * 3 + ["stop"] * 3
