"""``symfonic-ray runs``: what earlier runs on this machine came to. Prints; the store decides what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import AsJson
from symfonic_ray.cli.streams import results, say

if TYPE_CHECKING:
    from symfonic_ray.journal import HandOffRow, RunRow

runs = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at earlier runs: what failed, and why.")

RunId: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run, or a beginning of it that is alone.")
]
Filters: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="KEY=VALUE", help="Only rows that fit; KEY!=VALUE for the others. Repeatable."),
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many rows.")]


@runs.command("ls")
def list_runs(filters: Filters = None, limit: Limit = 100, as_json: AsJson = False) -> None:
    """List runs, newest first.

    \b
    Example:
      symfonic-ray runs ls --filter outcome!=delivered --limit 5
    """
    from symfonic_ray.cli.runs_rows import RowFilterError, fitting, run_line
    from symfonic_ray.journal import JournalError, RunRow, RunStore, state_file

    with results() as out:
        try:
            found = fitting(RunStore(state_file()).runs(), filters or (), RunRow)
        except RowFilterError as error:
            raise _leaving(str(error), ExitCode.USAGE) from None
        except JournalError as error:
            raise _leaving(str(error), ExitCode.FAILED) from None
        if as_json:
            from symfonic_ray.cli.runs_rows import runs_object

            out.object(runs_object(found[:limit], total=len(found)))
            return
        for run in found[:limit]:
            out.text(run_line(run))
        if len(found) > limit:
            say(f"{len(found) - limit} more; --limit shows them")
        if not found:
            say("no run fits" if filters else "no run is recorded yet; symfonic-ray demo makes one")


@runs.command("show")
def show(run: RunId, filters: Filters = None, limit: Limit = 100, as_json: AsJson = False) -> None:
    """Show one run: what failed and why first, then every hand-off.

    \b
    Example:
      symfonic-ray runs show 3f2a --filter outcome!=delivered
    """
    from symfonic_ray.cli.runs_rows import RowFilterError, fitting, run_object, shown_lines
    from symfonic_ray.journal import HandOffRow

    found, hand_offs = _found(run)
    with results() as out:
        try:
            fit = fitting(hand_offs, filters or (), HandOffRow)
        except RowFilterError as error:
            raise _leaving(str(error), ExitCode.USAGE) from None
        if as_json:
            out.object(run_object(found, fit[:limit], total=len(fit)))
            return
        for line in shown_lines(found, fit[:limit]):
            out.text(line)
        if len(fit) > limit:
            say(f"{len(fit) - limit} more; --limit shows them")


@runs.command("tree")
def tree(run: RunId, as_json: AsJson = False) -> None:
    """Draw who handed work to whom in one run."""
    from symfonic_ray.report.run_tree import nested, tree_lines

    found, hand_offs = _found(run)
    with results() as out:
        if as_json:
            from symfonic_ray.cli.runs_rows import tree_object

            out.object(tree_object(found, nested(hand_offs)))
            return
        for line in tree_lines(found.fleet, nested(hand_offs)):
            out.text(line)


@runs.command("report")
def report(
    run: RunId,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")],
) -> None:
    """Write one run as an HTML page: one file, no script, nothing from outside.

    \b
    Example:
      symfonic-ray runs report 3f2a -o run.html
    """
    from symfonic_ray.report.html_report import html_report

    _write(output, html_report(*_found(run)))


@runs.command("trace")
def trace(
    run: RunId,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the trace goes.")],
) -> None:
    """Write one run as Chrome trace events, for chrome://tracing or Perfetto.

    \b
    Example:
      symfonic-ray runs trace 3f2a -o run.json
    """
    import json

    from symfonic_ray.report.chrome_trace import chrome_trace

    found, hand_offs = _found(run)
    _write(output, json.dumps(chrome_trace(f"{found.fleet} {found.run_id}", hand_offs)))


@runs.command("cancel")
def cancel(
    run: RunId,
    wait: Annotated[
        float, typer.Option("--wait", min=0.0, metavar="SECONDS", help="How long to wait until it has stopped.")
    ] = 30.0,
) -> None:
    """Ask a run of this machine to stop, as Ctrl-C in its terminal does.

    \b
    Exit codes: 0 it has ended, 1 it is gone or still running, 2 it had ended before.
    """
    from symfonic_ray.cli.runs_stopping import ask_to_stop, outcome_within
    from symfonic_ray.journal import JournalError, RunStore, state_file

    found, _ = _found(run)
    if found.outcome == "lost":
        raise _leaving(f"nothing to stop: {found.message}", ExitCode.FAILED)
    if found.outcome != "running":
        raise _leaving(f"run {found.run_id} has ended already: {found.outcome}", ExitCode.USAGE)
    if problem := ask_to_stop(found):
        raise _leaving(f"run {found.run_id} was not asked to stop: {problem}", ExitCode.FAILED)
    try:
        outcome = outcome_within(RunStore(state_file()), found.run_id, patience_seconds=wait)
    except JournalError as error:
        raise _leaving(str(error), ExitCode.FAILED) from None
    if outcome == "running":
        raise _leaving(f"process {found.pid} was asked to stop and has not after {wait:g} s", ExitCode.FAILED)
    say(f"run {found.run_id}: {outcome}")


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _leaving(f"{output} cannot be written: {error.strerror}", ExitCode.FAILED) from None
    say(f"wrote {output}")


def _found(prefix: str) -> tuple[RunRow, tuple[HandOffRow, ...]]:
    """The one run whose id begins so, with its hand-offs."""
    from symfonic_ray.journal import JournalError, RunStore, state_file

    store = RunStore(state_file())
    try:
        every = store.runs()
        fit = [run for run in every if prefix and run.run_id.startswith(prefix)]
        if len(fit) == 1:
            return fit[0], store.hand_offs(fit[0].run_id)
    except JournalError as error:
        raise _leaving(str(error), ExitCode.FAILED) from None
    if fit:
        raise _leaving(f"{len(fit)} runs begin with {prefix!r}; give more of the id", ExitCode.USAGE)
    raise _leaving(f"no run begins with {prefix!r} in {state_file()}; symfonic-ray runs ls lists them", ExitCode.USAGE)


def _leaving(words: str, code: ExitCode) -> typer.Exit:
    say(words)
    return typer.Exit(code)
