"""``symfonic-ray demo``: the readers fleet on the sample documents, to see the whole path work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symfonic_ray.cli.asking import AskRequest, carry_out
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import (
    Address,
    AsJson,
    Debug,
    Model,
    NoColor,
    NoRecord,
    OptionalQuestion,
    Scope,
    Strict,
    Timeout,
)
from symfonic_ray.cli.streams import say

FLEET_FILE = Path("configs", "readers.yaml")

Documents = Annotated[
    Path | None,
    typer.Option("--docs", metavar="PATH", help="Your own file or folder instead of the samples.", show_default=False),
]


def demo(
    ask: OptionalQuestion = None,
    docs: Documents = None,
    scope: Scope = "demo",
    model: Model = None,
    address: Address = None,
    timeout: Timeout = None,
    strict: Strict = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
    debug: Debug = False,
    no_record: NoRecord = False,
) -> None:
    """See a fleet of readers answer a question.

    About the sample documents, or about your own with --docs.

    \b
    Examples:
      symfonic-ray demo
      symfonic-ray demo --docs notes/ --ask "When may visitors come?"
      symfonic-ray demo --model local
    """
    from symfonic_ray import samples

    fleet_file = find_fleet_file(Path.cwd())
    if fleet_file is None:
        say(
            f"the demo needs {FLEET_FILE} and the folder actors, which are not part of the installed package; "
            "run it inside a checkout of symfonic-ray, or use `symfonic-ray run` with your own fleet file"
        )
        raise typer.Exit(ExitCode.USAGE)
    if docs is not None and ask is None:
        say("--docs needs a question too; add --ask TEXT")
        raise typer.Exit(ExitCode.USAGE)
    question = ask or samples.SAMPLE_QUESTION
    documents = docs or samples.SAMPLE_FOLDER
    say(f"asking {question!r} about {documents}")
    request = AskRequest(
        fleet_file=fleet_file,
        question=question,
        input_path=documents,
        scope=scope,
        model=model,
        address=address,
        timeout_seconds=timeout,
        strict=strict,
        as_json=as_json,
        no_color=no_color,
        debug=debug,
        record_as="" if no_record else "demo",
    )
    raise typer.Exit(carry_out(request))


def find_fleet_file(current_folder: Path) -> Path | None:
    """The readers fleet of the checkout that this package, or else ``current_folder``, belongs to."""
    checkout = Path(__file__).resolve().parents[2]
    for folder in (checkout, current_folder):
        if (folder / FLEET_FILE).is_file() and (folder / "actors").is_dir():
            return folder / FLEET_FILE
    return None
