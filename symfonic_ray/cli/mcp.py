"""``symfonic-ray mcp``: a fleet as an MCP server on standard input and output. Decides when it opens and closes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.interrupts import Interrupts
from symfonic_ray.cli.options import Address, FleetFile, Scope
from symfonic_ray.cli.streams import say

if TYPE_CHECKING:
    from symfonic_ray.compose import ObservedFleet
    from symfonic_ray.config import FleetConfig

_OPENING_CODES = {"unreachable": ExitCode.UNREACHABLE, "limits": ExitCode.USAGE, "build": ExitCode.FAILED}


def mcp(fleet: FleetFile, scope: Scope = "local", address: Address = None) -> None:
    """Serve a fleet's children to an MCP client over stdio.

    The client starts this command and gets two tools: run_agent and list_agents. Words go to stderr.

    \b
    Example, in a client's settings:
      {"command": "symfonic-ray", "args": ["mcp", "configs/readers.yaml", "--scope", "acme"]}

    It ends when the client closes its side. Exit codes: 0 closed by the client, 1 a child could not be built, 2 the
    fleet file is wrong or the extra is missing, 4 no cluster, 130 interrupted.
    """
    from symfonic_ray.config import ConfigError, load_fleet

    try:
        import mcp as _  # noqa: F401  # asked for before anything is started
    except ImportError:
        say("the package mcp is not installed; pip install 'symfonic-ray[mcp]'")
        raise typer.Exit(ExitCode.USAGE) from None
    try:
        config = load_fleet(fleet)
    except ConfigError as error:
        say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None
    raise typer.Exit(asyncio.run(_served(config, scope, address)))


async def _served(config: FleetConfig, scope: str, address: str | None) -> ExitCode:
    from mcp.server.stdio import stdio_server

    from symfonic_ray.adapters.mcp_server import mcp_server
    from symfonic_ray.compose import FleetOpenError, open_fleet

    interrupts = Interrupts()
    interrupts.install()
    ready: asyncio.Future[ObservedFleet] = asyncio.get_running_loop().create_future()
    server = mcp_server(
        config.name, {child.name: child.description for child in config.children}, lambda: asyncio.shield(ready)
    )
    try:
        async with AsyncExitStack() as stack:
            reading, writing = await stack.enter_async_context(stdio_server())  # first: Ray prints to stdout by itself
            serving = asyncio.create_task(server.run(reading, writing, server.create_initialization_options()))
            stack.push_async_callback(_ended, serving)

            def stage(words: str) -> None:
                interrupts.install()  # Ray puts its own SIGTERM handler in place
                say(f"{words} ...")

            ready.set_result(
                await stack.enter_async_context(open_fleet(config, scope=scope, address=address, on_stage=stage))
            )
            interrupts.install()
            say(f"ready: {', '.join(child.name for child in config.children)}")
            await serving
            say("the client has closed its side; closing ...")
    except FleetOpenError as error:
        say(str(error))
        return _OPENING_CODES[error.stage]
    except asyncio.CancelledError:
        if not interrupts.received:
            raise
        return ExitCode.CANCELLED
    return ExitCode.DELIVERED


async def _ended(serving: asyncio.Task[None]) -> None:
    serving.cancel()
    await asyncio.wait((serving,))
