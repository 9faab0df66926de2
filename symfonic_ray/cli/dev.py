"""``symfonic-ray dev``: a fleet with its console beside it, and questions from the keyboard. Decides what is opened."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.interrupts import Interrupts
from symfonic_ray.cli.options import Address, FleetFile, Scope
from symfonic_ray.cli.streams import say

if TYPE_CHECKING:
    from symfonic_ray.config import FleetConfig

_OPENING_CODES = {"unreachable": ExitCode.UNREACHABLE, "limits": ExitCode.USAGE, "build": ExitCode.FAILED}
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the console; 0 for any that is free.")]
Input = Annotated[
    Path | None, typer.Option("--input", metavar="PATH", help="What questions are about.", show_default=False)
]


def dev(
    fleet: FleetFile, input_path: Input = None, scope: Scope = "local", port: Port = 0, address: Address = None
) -> None:
    """Open a fleet with its live console, and ask it line by line.

    The console's address is printed with its token: only who has it can look or steer. It listens on 127.0.0.1 alone.
    With --input each line on standard input is a question; answers go to stdout. End with Ctrl-D or Ctrl-C.

    \b
    Example:
      symfonic-ray dev configs/readers.yaml --input notes/

    Exit codes: 0 ended, 1 a child could not be built, 2 the fleet file is wrong, the port is taken or the extra is
    missing, 4 no cluster, 130 interrupted.
    """
    from symfonic_ray.config import ConfigError, load_fleet

    if any(find_spec(package) is None for package in ("starlette", "uvicorn", "sse_starlette")):
        say("the console's packages are not installed; pip install 'symfonic-ray[console]'")
        raise typer.Exit(ExitCode.USAGE)
    try:
        config = load_fleet(fleet)
    except ConfigError as error:
        say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None
    if input_path is not None and not input_path.exists():
        say(f"the input {input_path} does not exist; give the path of a file or folder")
        raise typer.Exit(ExitCode.USAGE)
    try:
        code = asyncio.run(_opened(config, input_path and input_path.absolute(), scope, port, address))
    except asyncio.CancelledError:
        code = ExitCode.CANCELLED
    raise typer.Exit(code)


async def _opened(config: FleetConfig, input_path: Path | None, scope: str, port: int, address: str | None) -> ExitCode:
    from symfonic_ray.compose import FleetOpenError, ask, open_fleet
    from symfonic_ray.console import serve_console

    interrupts = Interrupts()

    def stage(words: str) -> None:
        interrupts.install()
        say(f"{words} ...")

    stage("starting")
    try:
        async with open_fleet(
            config,
            scope=scope,
            address=address,
            on_stage=stage,
            beside=lambda pool: serve_console(pool, port=port),
            on_beside=lambda console: say(f"console: {console.url}"),
        ) as fleet:
            interrupts.install()
            say("ready; " + ("ask on one line each" if input_path is not None else "Ctrl-C ends it"))
            async for question in _questions(input_path is not None):
                assert input_path is not None
                answer = await ask(fleet, config, scope=scope, question=question, input_path=input_path)
                print(answer.text or answer.message, flush=True)
    except FleetOpenError as error:
        say(str(error))
        return _OPENING_CODES[error.stage]
    except OSError as error:
        say(f"the console cannot listen on port {port} ({error.strerror}); give another --port, or 0")
        return ExitCode.USAGE
    say("closing ...")
    return ExitCode.DELIVERED


async def _questions(wanted: bool) -> AsyncIterator[str]:
    """Lines of standard input that are not blank; waits for ever where none are wanted.

    They are read in a thread that ends with the process: one that reads cannot be called off.
    """
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")

    if wanted:
        threading.Thread(target=read, daemon=True, name="questions").start()
    while line := await lines.get():
        if question := line.strip():
            yield question
