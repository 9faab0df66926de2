"""A console beside an open pool: served on loopback as long as its block lasts. Decides nothing of what is shown."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import uvicorn

from symfonic_ray.cluster.scoped_pool import ScopedPool
from symfonic_ray.console.app import console_app
from symfonic_ray.console.view import View
from symfonic_ray.kernel import scope_from_key

START_SECONDS = 10.0
END_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Console:
    """A console that is being served."""

    port: int
    token: str

    @property
    def url(self) -> str:
        """Where to open it; the token behind ``#`` stays in the browser."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"


class WatchedPool:
    """A pool, as the console sees and steers it."""

    def __init__(self, pool: ScopedPool) -> None:
        self._pool = pool
        self.view = View()

    def since(self, change: int) -> dict[str, Any]:
        """What has changed after a number."""
        return self.view.since(change, self._pool.stats(), self._pool.name)

    def freeze(self, scope_key: str | None) -> None:
        """Take no work of a scope, or of any."""
        self._pool.freeze(None if scope_key is None else scope_from_key(scope_key))

    def thaw(self, scope_key: str | None) -> None:
        """Take work again."""
        self._pool.thaw(None if scope_key is None else scope_from_key(scope_key))

    async def cancel(self, scope_key: str, root_run_id: str) -> dict[str, Any]:
        """Stop a tree."""
        return asdict(await self._pool.cancel(scope_from_key(scope_key), root_run_id))


class _Server(uvicorn.Server):
    """A server that leaves the signals to the program it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_console(pool: ScopedPool, *, port: int = 0) -> AsyncIterator[Console]:
    """Serve the console of a pool on 127.0.0.1 for the length of a block.

    Args:
        pool: an open one.
        port: 0 for any that is free.
    Raises:
        OSError: when the port is taken.
    """
    watched = WatchedPool(pool)
    token = secrets.token_urlsafe(24)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
    except OSError:
        listening.close()
        raise
    place = int(listening.getsockname()[1])
    app = console_app(watched, token, lambda: place)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1
    )
    server = _Server(config)
    forget = pool.observe(watched.view.tell)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        async with asyncio.timeout(START_SECONDS):
            while not server.started and not serving.done():  # noqa: ASYNC110  # it has no event for it
                await asyncio.sleep(0.02)
        yield Console(place, token)
    finally:
        forget()
        server.should_exit = True
        _, left = await asyncio.wait((serving,), timeout=END_SECONDS)
        if left:
            server.force_exit = True
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
        listening.close()
