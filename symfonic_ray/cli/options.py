"""Options that several commands share: their names, types and help. Knows no command."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def _above_zero(value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value:g} is not a number of seconds above 0")
    return value


def _not_blank(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise typer.BadParameter("it is blank; write what you want to know")
    return value


def _names_a_tenant(value: str) -> str:
    from symfonic_ray.kernel import ScopeError, scope_key

    try:
        scope_key(value)
    except ScopeError as error:
        raise typer.BadParameter(str(error)) from error
    return value


FleetFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FLEET", help="Fleet file, such as configs/readers.yaml.")
]
Scope: TypeAlias = Annotated[
    str,
    typer.Option("--scope", metavar="NAME", callback=_names_a_tenant, help="Whom the children work for: one tenant."),
]
Question: TypeAlias = Annotated[
    str, typer.Option("--ask", metavar="TEXT", callback=_not_blank, help="The question.", show_default=False)
]
OptionalQuestion: TypeAlias = Annotated[
    str | None, typer.Option("--ask", metavar="TEXT", callback=_not_blank, help="The question.", show_default=False)
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Language model for the parent and the children that take one, in place of the fleet's own: openai:NAME, "
        "local, langchain:package.module:factory. Keys come from the environment.",
        show_default=False,
    ),
]
Address: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        envvar="RAY_ADDRESS",
        help="Ray cluster to use; without one, a local Ray is started and stopped.",
        show_default=False,
    ),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        callback=_above_zero,
        help="End with exit code 124 when the answer takes longer, counted from when the children are ready.",
        show_default=False,
    ),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit with 5 when a hand-off did not deliver, though there is an answer.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
NoColor: TypeAlias = Annotated[
    bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")
]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the Python traceback of a failure.")]
NoRecord: TypeAlias = Annotated[bool, typer.Option("--no-record", help="Leave no trace of this run for 'runs'.")]
