"""The Ray that a fleet runs on: one that is there already, or a local one that we start, own and stop.

What we did not start is never shut down. Every start and join is bounded and says what to do when it fails.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import grpc
import ray

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.cluster.ray_thread import RayThread
from symfonic_ray.cluster.scoped_pool import ScopedPool
from symfonic_ray.cluster.termination import Termination
from symfonic_ray.delegation.declarations import ChildDeclaration
from symfonic_ray.kernel.text import failure_line

REACH_SECONDS = 2.0
HANDSHAKE_SECONDS = 2.0
JOIN_SECONDS = 10.0  # spec/cluster.md
START_SECONDS = 90.0  # 4 to 30 s seen on two loaded cores; Ray's own bound for a node's start is 30 s
STOP_SECONDS = 30.0
_LOCAL = frozenset({"local"})
_OWN_ENVIRONMENT = ("RAY_AUTH_MODE", "RAY_ENABLE_UV_RUN_RUNTIME_ENV")


class ClusterUnreachableError(ConnectionError):
    """No Ray cluster could be reached or started: says where, why, and what to do."""

    def __init__(self, address: str, problem: str, hint: str) -> None:
        super().__init__(address, problem, hint)
        self.address, self.problem, self.hint = address, problem, hint

    def __str__(self) -> str:
        return f"no Ray cluster at {self.address}: {self.problem}; {self.hint}"


class Cluster:
    """A connection to Ray; an async context manager, made by ``Cluster.connect``."""

    def __init__(self, address: str | None, num_cpus: int | None, log_level: str) -> None:
        self._address = address
        self._num_cpus = num_cpus
        self._log_level = log_level
        self._owned = False
        self._joined = False
        self._termination = Termination()
        self._environment: dict[str, str | None] = {}
        self._thread = RayThread()

    @classmethod
    def connect(cls, address: str | None = None, *, num_cpus: int | None = None, log_level: str = "ERROR") -> Cluster:
        """A cluster to be entered with ``async with``.

        Args:
            address: ``host:port``, ``auto``, ``ray://host:port`` or ``local``; None for ``RAY_ADDRESS`` where it is
                set, else a local Ray that is started, owned and stopped here. A Ray that this process has joined
                already is used as it is, whatever the address, and left running.
            num_cpus: cores of a local Ray; None for all.
            log_level: of Ray's own logger in this process.
        Raises:
            ClusterUnreachableError: on entering; within 10 seconds for an address.
        """
        return cls(address, num_cpus, log_level)

    @property
    def owned(self) -> bool:
        """Whether this Ray was started here, and will be stopped here."""
        return self._owned

    async def __aenter__(self) -> Cluster:
        if ray.is_initialized():
            return self
        address = self._address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            if address in _LOCAL:
                await self._start()
            else:
                await self._join(address)
        except BaseException:
            await self._left()
            raise
        self._termination.install()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._left()

    def pool(
        self,
        children: Iterable[ChildDeclaration],
        *,
        max_depth: int = 3,
        placements: Mapping[str, Placement] = {},  # read only, and so in spec/cluster.md
        limits: PoolLimits = PoolLimits(),  # noqa: B008  # frozen
        run_limits: RunLimits = RunLimits(),  # noqa: B008  # frozen
        parent_config: Any = None,
        parent_provider: Any = None,
        name: str | None = None,
        journal: None = None,
    ) -> ScopedPool:
        """A pool of ``children`` for many scopes, to be entered with ``async with``.

        Args:
            children: any mix of ``ScopedChild``, ``ChildSpec`` and ``PrebuiltChild``.
            max_depth: deepest level at which a child may run; 0 disables delegation, and builds nothing.
            placements: by child name; a child that is not named has ``Placement()``.
            limits: bounds of the pool.
            run_limits: bounds of one tree of runs.
            parent_config: what a ``ChildSpec`` without a config inherits from.
            parent_provider: what a ``ChildSpec`` without a provider shares; makes agents by ``build_agent(plan)``.
            name: shown in process titles; no secret.
            journal: no journal is kept in this version; None is the only value.
        Raises:
            ChildDeclarationError, DuplicateChildError, TypeError, LimitError: for what cannot stand, all before a
                process is started.
            ChildBuildError: reason ``unpicklable``, with the path to the member in the way.
        """
        if journal is not None:
            raise TypeError("this version keeps no journal; leave journal=None")
        return ScopedPool(
            children,
            max_depth=max_depth,
            placements=placements,
            limits=limits,
            run_limits=run_limits,
            parent_config=parent_config,
            parent_provider=parent_provider,
            name=name,
        )

    async def _start(self) -> None:
        self._set_environment()
        options: dict[str, Any] = {
            "address": "local",
            "include_dashboard": False,
            "log_to_driver": False,
            "logging_level": self._log_level,
            "num_cpus": self._num_cpus,
        }
        problem: BaseException | None = None
        self._owned = True  # from here on: a start that is cut short is stopped by the same thread once it is through
        for _ in range(2):  # "The current node timed out during startup" on a loaded machine: once more, then say so
            try:
                await self._thread.do(lambda: ray.init(**options), START_SECONDS)
            except TimeoutError as error:
                problem = error
                break
            except Exception as error:  # Ray raises bare Exceptions here
                problem = error
                await self._thread.do(ray.shutdown, STOP_SECONDS)
            else:
                return
        words = f"a local one did not start within {START_SECONDS:g} seconds"
        if problem is not None and not isinstance(problem, TimeoutError):
            words = f"a local one did not start, twice: {failure_line(problem)}"
        raise ClusterUnreachableError("this machine", words, "see 'symfonic-ray doctor' for memory, disk and leftovers")

    async def _join(self, address: str) -> None:
        self._set_environment()
        hint = "check the address, the network and that 'ray status' answers there"
        if (place := _host_and_port(address)) is not None:
            try:
                await asyncio.wait_for(asyncio.to_thread(_reach, *place), REACH_SECONDS + 1.0)
            except (OSError, TimeoutError) as error:
                raise ClusterUnreachableError(address, failure_line(error), hint) from None
            if not await asyncio.to_thread(_speaks_grpc, *place):
                problem = "something listens there, but it does not answer as Ray does"
                raise ClusterUnreachableError(address, problem, hint)
        options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": self._log_level}
        try:
            await self._thread.do(lambda: ray.init(**options), JOIN_SECONDS - REACH_SECONDS - HANDSHAKE_SECONDS)
        except TimeoutError:
            self._thread.later(ray.shutdown)  # if it lets us in after all, nobody wants it any more
            problem = f"something listens there, but Ray did not let us in within {JOIN_SECONDS:g} seconds"
            raise ClusterUnreachableError(address, problem, hint) from None
        except Exception as error:  # RuntimeError for versions that differ, ConnectionError, AuthenticationError
            raise ClusterUnreachableError(address, failure_line(error), _hint_for(error) or hint) from None
        self._joined = True

    async def _left(self) -> None:
        self._termination.restore()
        try:
            if self._owned or self._joined:
                self._owned = self._joined = False
                with suppress(TimeoutError):  # the thread goes on and stops it when it can
                    await self._thread.do(ray.shutdown, STOP_SECONDS)
        finally:
            self._thread.end()
            for name, value in self._environment.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            self._environment = {}

    def _set_environment(self) -> None:
        """Ray writes into this process's environment; what it was before comes back when we leave."""
        self._environment = {name: os.environ.get(name) for name in _OWN_ENVIRONMENT}
        os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"  # else 'uv run' uploads the working folder


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Where to knock before Ray does, which would wait for a minute; None for ``auto`` and the like."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        return (parts.hostname, parts.port) if parts.hostname and parts.port else None
    except ValueError:
        return None


def _reach(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=REACH_SECONDS):
        pass


def _speaks_grpc(host: str, port: int) -> bool:
    """Whether a gRPC server answers, as Ray's do: ``ray.init`` itself knocks for a minute and cannot be called off."""
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=HANDSHAKE_SECONDS)
        except grpc.FutureTimeoutError:
            return False
    return True


def _hint_for(error: BaseException) -> str:
    words = str(error).lower()
    if "version" in words:
        return "use the Ray and Python versions of the cluster"
    if "auth" in words or "token" in words:
        return "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as the cluster's owner says"
    return ""
