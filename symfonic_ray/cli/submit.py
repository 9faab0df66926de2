"""``symfonic-ray submit``: a fleet's work as a job of a Ray cluster, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from symfonic_ray.cli.options import (
    AsJson,
    Debug,
    FleetFile,
    Model,
    OptionalQuestion,
    Scope,
    Strict,
    Timeout,
    _above_zero,
)

_SEND = "send"


class _FleetOrCommand(TyperGroup):
    """``submit FLEET`` is ``submit send FLEET``; a fleet file called like a command is written ``./status``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: typer brings its own copy of click
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [_SEND, *args]
        return super().parse_args(ctx, args)


submit = typer.Typer(
    cls=_FleetOrCommand,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Send a fleet's work to a Ray cluster as a job: 'submit FLEET ...' sends, the others look after it.",
)

Dashboard: TypeAlias = Annotated[
    str, typer.Option("--address", metavar="URL", help="The cluster's dashboard, as http://HEAD:8265.")
]
JobId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="As submit printed it.")]


@submit.command(_SEND)
def send(
    fleet: FleetFile,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="URL", help="The cluster's dashboard, as http://HEAD:8265."),
    ] = None,
    ask: OptionalQuestion = None,
    input_path: Annotated[
        Path | None,
        typer.Option("--input", metavar="PATH", help="With --ask: file or folder, within the working dir."),
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="FILE", help="A JSON value a line, as for map; from anywhere.")
    ] = None,
    child: Annotated[
        str | None, typer.Option("--child", metavar="NAME", help="With --tasks: who gets them; the only child if one.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="With --tasks: where the results go; ID.results.jsonl."),
    ] = None,
    working_dir: Annotated[
        Path, typer.Option("--working-dir", metavar="FOLDER", help="What is sent: holds actors/ and the fleet file.")
    ] = Path("."),
    scope: Scope = "local",
    model: Model = None,
    timeout: Timeout = None,
    start_timeout: Annotated[
        float,
        typer.Option(
            "--start-timeout", metavar="SECONDS", callback=_above_zero, help="Give up when the job has not started."
        ),
    ] = 120.0,
    strict: Strict = False,
    env_json: Annotated[
        str | None,
        typer.Option("--env-json", metavar="JSON", help="Variables of the job and its children; no secrets."),
    ] = None,
    runtime_env_json: Annotated[
        str | None, typer.Option("--runtime-env-json", metavar="JSON", help="More of Ray's runtime env, such as pip.")
    ] = None,
    secret_env: Annotated[
        list[str] | None,
        typer.Option("--secret-env", metavar="NAME", help="A variable that the cluster must have already; repeatable."),
    ] = None,
    submission_id: Annotated[
        str | None, typer.Option("--submission-id", metavar="ID", help="The job's id; a new one when not given.")
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the id and leave once it is submitted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, and send nothing.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Send a fleet's work to a Ray cluster as a job ('submit FLEET' for short).

    The job's log goes to stderr while it runs, the answer to stdout; Ctrl-C leaves the job running.

    \b
    Examples:
      symfonic-ray submit configs/readers.yaml --tasks tasks.jsonl --address http://head:8265 -o results.jsonl
      symfonic-ray submit configs/readers.yaml --ask "When?" --input notes/ --dry-run

    \b
    Exit codes: those of run and map, from the job's own last line; 2 refused before upload, 4 no cluster that takes
    the job, 130 stopped.
    """
    from symfonic_ray.cli.submit_sending import SubmitRequest, carry_out

    request = SubmitRequest(
        fleet_file=fleet,
        address=address,
        question=ask,
        input_path=input_path,
        tasks_file=tasks,
        child=child,
        output=output,
        working_dir=working_dir,
        scope=scope,
        model=model,
        timeout_seconds=timeout,
        start_seconds=start_timeout,
        strict=strict,
        env_json=env_json,
        runtime_env_json=runtime_env_json,
        secrets=tuple(secret_env or ()),
        submission_id=submission_id,
        wait=not no_wait,
        dry_run=dry_run,
        as_json=as_json,
        debug=debug,
    )
    raise typer.Exit(carry_out(request))


@submit.command()
def status(job: JobId, address: Dashboard, as_json: AsJson = False) -> None:
    """Say how a job stands; once it has ended, how it ended."""
    from symfonic_ray.cli.submit_asking import tell_status

    raise typer.Exit(tell_status(job, address, as_json=as_json))


@submit.command()
def logs(
    job: JobId,
    address: Dashboard,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
) -> None:
    """Print a job's log; its last line is the outcome as one JSON object."""
    from symfonic_ray.cli.submit_asking import tell_log

    raise typer.Exit(tell_log(job, address, until_ended=follow))


@submit.command()
def stop(job: JobId, address: Dashboard, as_json: AsJson = False) -> None:
    """End a job: it stops what runs, closes, and keeps the results that it has."""
    from symfonic_ray.cli.submit_asking import stop_job

    raise typer.Exit(stop_job(job, address, as_json=as_json))


@submit.command("results")
def fetch(
    job: JobId,
    address: Dashboard,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where they go.")],
) -> None:
    """Fetch the results of a job that has ended; those until then when it was stopped."""
    from symfonic_ray.cli.submit_asking import save_results

    raise typer.Exit(save_results(job, address, output))
