"""What a bulk job needs before anything is started: a request that makes sense, a fleet, files that may be used.

Every heavy import waits until the first word is out.
"""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.streams import Results, results, say

if TYPE_CHECKING:
    from symfonic_ray.config import ConfigError, FleetConfig

ESCAPED_BYTES = 6  # what JSON may make of one byte of a task, as in \u000a
FRAME_BYTES = 4096  # for an id and the JSON around it


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest:
    """What the user asked for."""

    fleet_file: Path
    child: str
    tasks_file: Path
    results_file: Path
    scope: str
    in_flight: int | None
    """None for as many as the fleet admits."""
    timeout_seconds: float | None
    """For each task."""
    ordered: bool
    journal_file: Path | None
    rerun_unknown: bool
    retry_failed: bool
    force: bool
    strict: bool
    address: str | None
    as_json: bool
    no_color: bool
    debug: bool
    record: bool = True
    """Whether the run goes into the run store."""


def carry_out(request: MapRequest) -> ExitCode:
    """Do all of it; the exit code. Whatever goes wrong has been said when this returns."""
    say(f"reading the fleet {request.fleet_file}")
    with results() as out:
        try:
            return _configured(request, out)
        except KeyboardInterrupt:  # before the event loop takes the signal over
            return refused(request, out, ExitCode.CANCELLED, "interrupted before anything was started")
        except Exception as error:
            from symfonic_ray.kernel.text import failure_line

            if request.debug:
                traceback.print_exc()
            words = f"this should not have happened: {failure_line(error)}; --debug shows where"
            return refused(request, out, ExitCode.FAILED, words)


def refused(request: MapRequest, out: Results, code: ExitCode, words: str, **facts: Any) -> ExitCode:
    """Say why nothing was handed over, and print the object of it."""
    from symfonic_ray.cli.map_summary import ended_early

    outcomes = {ExitCode.USAGE: "invalid", ExitCode.UNREACHABLE: "unreachable", ExitCode.CANCELLED: "cancelled"}
    say(words)
    if request.as_json:
        out.object(ended_early(outcomes.get(code, "failed"), words) | facts)
    return code


def _configured(request: MapRequest, out: Results) -> ExitCode:
    from symfonic_ray.cli.map_session import MapSession
    from symfonic_ray.config import ConfigError, load_fleet

    try:
        config = load_fleet(request.fleet_file)
    except ConfigError as error:
        return _refuse_config(request, out, error)
    problem = _problem(request, config)
    if problem:
        return refused(request, out, ExitCode.USAGE, problem)
    session = MapSession(request, reduced(config, request.child), out)
    return asyncio.run(session.run())


def _refuse_config(request: MapRequest, out: Results, error: ConfigError) -> ExitCode:
    from symfonic_ray.cli.result_object import problem_object

    for problem in error.problems:
        say(str(problem))
    found = [problem_object(problem) for problem in error.problems]
    return refused(request, out, ExitCode.USAGE, f"the fleet file has {len(found)} problems", problems=found)


def _problem(request: MapRequest, config: FleetConfig) -> str:
    """What of the request cannot be done; empty if all can."""
    names = [child.name for child in config.children]
    if request.child not in names:
        return f"no child is named {request.child!r}; {config.file} holds {', '.join(names)}"
    if not request.tasks_file.exists():
        return f"the file of tasks {request.tasks_file} does not exist; give the path of a file of JSON lines"
    if request.tasks_file.is_dir():
        return f"{request.tasks_file} is a folder; give the path of a file of JSON lines"
    files = [request.tasks_file, request.results_file, *((request.journal_file,) if request.journal_file else ())]
    if len({path.absolute() for path in files}) < len(files):
        return "tasks, results and journal are not three files; give each its own path"
    if request.journal_file is None:
        for name in ("rerun_unknown", "retry_failed"):
            if getattr(request, name):
                return f"--{name.replace('_', '-')} goes on with an earlier run; give its --journal FILE"
    elif not request.tasks_file.is_file():
        return f"{request.tasks_file} can be read only once, so no journal can be kept for it; store it in a file first"
    return ""


def reduced(config: FleetConfig, child: str) -> FleetConfig:
    """The fleet with only ``child`` and what it may hand work on to: no process is started for the others."""
    wanted = [child]
    for name in wanted:
        wanted += [other for other in config.placements[name].delegates_to if other not in wanted]
    return replace(
        config,
        children=tuple(one for one in config.children if one.name in wanted),
        placements={name: placement for name, placement in config.placements.items() if name in wanted},
    )
