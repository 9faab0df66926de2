"""``symfonic-ray run``: one question about the user's own files to the user's own fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symfonic_ray.cli.asking import AskRequest, carry_out
from symfonic_ray.cli.options import (
    Address,
    AsJson,
    Debug,
    FleetFile,
    Model,
    NoColor,
    NoRecord,
    Question,
    Scope,
    Strict,
    Timeout,
)

Input = Annotated[
    Path, typer.Option("--input", metavar="PATH", help="File or folder that the question is about.", show_default=False)
]


def run(
    fleet: FleetFile,
    ask: Question,
    input_path: Input,
    scope: Scope = "local",
    model: Model = None,
    address: Address = None,
    timeout: Timeout = None,
    strict: Strict = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
    debug: Debug = False,
    no_record: NoRecord = False,
) -> None:
    """Ask a fleet one question about a file or folder.

    The answer goes to stdout, the tree of hand-offs to stderr.

    \b
    Example:
      symfonic-ray run configs/readers.yaml --ask "When may visitors come?" --input notes/ --scope acme

    \b
    Exit codes: 0 delivered, 1 failed, 2 the request or the fleet file is wrong, 3 refused,
    4 no cluster, 5 partial (with --strict), 124 --timeout ran out, 130 interrupted.
    """
    request = AskRequest(
        fleet_file=fleet,
        question=ask,
        input_path=input_path,
        scope=scope,
        model=model,
        address=address,
        timeout_seconds=timeout,
        strict=strict,
        as_json=as_json,
        no_color=no_color,
        debug=debug,
        record_as="" if no_record else "run",
    )
    raise typer.Exit(carry_out(request))
