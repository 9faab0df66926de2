"""The command line: a thin shell over the library, one file a command. Imports neither ray nor pydantic by itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from symfonic_ray.cli.bench import bench
from symfonic_ray.cli.demo import demo
from symfonic_ray.cli.dev import dev
from symfonic_ray.cli.doctor import doctor
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.init import init
from symfonic_ray.cli.map import map_tasks
from symfonic_ray.cli.mcp import mcp
from symfonic_ray.cli.run import run
from symfonic_ray.cli.runs import runs
from symfonic_ray.cli.submit import submit
from symfonic_ray.cli.validate import validate

PROGRAM = "symfonic-ray"

app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: examples keep their lines, brackets stay brackets
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, run, dev, init, mcp, validate, doctor, bench):
    app.command()(command)
app.command("map")(map_tasks)
app.add_typer(runs, name="runs")
app.add_typer(submit, name="submit")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"{PROGRAM} {version(PROGRAM)}")
        except PackageNotFoundError:
            typer.echo(f"{PROGRAM} (not installed: run from its source)")
        raise typer.Exit(ExitCode.DELIVERED)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Hand work from an agent to its children across a Ray cluster, safely for many tenants.

    \b
    To begin:
      symfonic-ray doctor
      symfonic-ray demo
      symfonic-ray run configs/readers.yaml --ask "When may visitors come?" --input notes/
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: without the program's name; this process's own when None.
    Returns:
        The exit code; see ``ExitCode``.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name=PROGRAM)
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
            return ExitCode.FAILED
        return leaving.code or ExitCode.DELIVERED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.CANCELLED
    return ExitCode.DELIVERED
