"""``symfonic-ray map``: many tasks of a file to one child, a result a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symfonic_ray.cli.mapping import MapRequest, carry_out
from symfonic_ray.cli.options import Address, AsJson, Debug, FleetFile, NoColor, NoRecord, Scope, _above_zero


def map_tasks(
    fleet: FleetFile,
    child: Annotated[str, typer.Argument(metavar="CHILD", help="The child that gets the tasks.")],
    tasks: Annotated[
        Path,
        typer.Argument(
            metavar="TASKS", help='A JSON value a line: a string, an object, an array, or {"id": ..., "task": ...}.'
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the results go, one JSON object a line.")
    ],
    scope: Scope = "local",
    in_flight: Annotated[
        int | None,
        typer.Option("--in-flight", min=1, help="Most tasks at one time; as many as the fleet admits when not given."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="SECONDS", callback=_above_zero, help="For each task; a task that takes longer failed."
        ),
    ] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="Results in the order of the tasks.")] = False,
    journal: Annotated[
        Path | None,
        typer.Option("--journal", metavar="FILE", help="Keep a journal: after a kill, the same command goes on."),
    ] = None,
    rerun_unknown: Annotated[
        bool, typer.Option("--rerun-unknown", help="Run again what a killed run left running, at the risk of twice.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed in an earlier run.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of results if there is one.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 5 when some task was not delivered.")] = False,
    address: Address = None,
    as_json: AsJson = False,
    no_color: NoColor = False,
    debug: Debug = False,
    no_record: NoRecord = False,
) -> None:
    """Hand every line of a file to a child of a fleet.

    Results are written as they end; a line that is no task, and a task that fails, are results too.

    \b
    Examples:
      symfonic-ray map configs/readers.yaml reader tasks.jsonl -o results.jsonl
      symfonic-ray map fleet.yaml writer tasks.jsonl -o results.jsonl --journal job.journal

    With --journal the same command goes on where a killed one stopped. What was delivered never runs again; what was
    running is reported as unknown and runs again only if the child's placement says idempotent, or with
    --rerun-unknown.

    \b
    Exit codes: 0 delivered (all, or some without --strict), 1 none delivered or stopped, 2 the request, the fleet
    file or the journal is wrong, 4 no cluster, 5 some were not delivered (with --strict), 130 interrupted.
    """
    request = MapRequest(
        fleet_file=fleet,
        child=child,
        tasks_file=tasks,
        results_file=output,
        scope=scope,
        in_flight=in_flight,
        timeout_seconds=timeout,
        ordered=ordered,
        journal_file=journal,
        rerun_unknown=rerun_unknown,
        retry_failed=retry_failed,
        force=force,
        strict=strict,
        address=address,
        as_json=as_json,
        no_color=no_color,
        debug=debug,
        record=not no_record,
    )
    raise typer.Exit(carry_out(request))
