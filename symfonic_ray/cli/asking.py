"""One question to one fleet, from the fleet file to the exit code: what ``run`` and ``demo`` share.

Decides what is printed where, and which exit code tells it. Every heavy import waits until the first word is out.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.interrupts import Interrupts
from symfonic_ray.cli.streams import Results, results, say

if TYPE_CHECKING:
    from symfonic_ray.compose import Answer, ObservedFleet
    from symfonic_ray.config import ConfigError, FleetConfig
    from symfonic_ray.journal import RunRecorder
    from symfonic_ray.report import LiveTree, PlainTree


_STARTING_RAY = "starting a local Ray (4 to 30 seconds the first time) ..."
EXTRACTIVE = "extractive"  # the readers' own way, without a model
_OPENING_CODES = {"unreachable": ExitCode.UNREACHABLE, "limits": ExitCode.USAGE, "build": ExitCode.FAILED}
_CODES = {
    "delivered": ExitCode.DELIVERED,
    "failed": ExitCode.FAILED,
    "refused": ExitCode.REFUSED,
    "deadline": ExitCode.DEADLINE,
    "cancelled": ExitCode.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """What the user asked for."""

    fleet_file: Path
    question: str
    input_path: Path
    scope: str
    model: str | None
    address: str | None
    timeout_seconds: float | None
    strict: bool
    as_json: bool
    no_color: bool
    debug: bool
    record_as: str = ""
    """The command under whose name the run goes into the run store; empty: it is not recorded."""


def carry_out(request: AskRequest) -> ExitCode:
    """Do all of it; the exit code. Whatever goes wrong has been said when this returns."""
    say(f"reading the fleet {request.fleet_file}")
    with results() as out:
        try:
            return _configured(request, out)
        except KeyboardInterrupt:  # before the event loop takes the signal over
            say("interrupted before anything was started")
            return _ended_early(request, out, ExitCode.CANCELLED, "interrupted")
        except Exception as error:
            from symfonic_ray.kernel.text import failure_line

            if request.debug:
                traceback.print_exc()
            say(f"this should not have happened: {failure_line(error)}; --debug shows where")
            return _ended_early(request, out, ExitCode.FAILED, failure_line(error))


def _configured(request: AskRequest, out: Results) -> ExitCode:
    from symfonic_ray.config import ConfigError, load_fleet

    if not request.input_path.exists():
        words = f"the input {request.input_path} does not exist; give the path of a file or folder"
        say(words)
        return _ended_early(request, out, ExitCode.USAGE, words)
    try:
        config = load_fleet(request.fleet_file, model=request.model)
    except ConfigError as error:
        return _refuse_config(request, out, error)
    if problem := _missing_model(config):
        say(problem)
        return _ended_early(request, out, ExitCode.USAGE, problem)
    return asyncio.run(_session(request, config, out))


def _missing_model(config: FleetConfig) -> str:
    """Why a model of the fleet cannot be had here; empty where all can, before anything slow is started for them."""
    from symfonic_ray.adapters.errors import ModelError
    from symfonic_ray.adapters.models import model_from

    for name in config.models:
        if name != EXTRACTIVE:
            try:
                model_from(name)
            except ModelError as error:
                return str(error)
    return ""


def _refuse_config(request: AskRequest, out: Results, error: ConfigError) -> ExitCode:
    from symfonic_ray.cli.result_object import result_object

    for problem in error.problems:
        say(str(problem))
    if request.as_json:
        words = f"the fleet file has {len(error.problems)} problems"
        out.object(result_object("invalid", message=words, problems=error.problems))
    return ExitCode.USAGE


def _ended_early(request: AskRequest, out: Results, code: ExitCode, words: str) -> ExitCode:
    """The object of a run that came to no answer; its words have been said already."""
    from symfonic_ray.cli.result_object import result_object

    outcomes = {ExitCode.USAGE: "invalid", ExitCode.UNREACHABLE: "unreachable", ExitCode.CANCELLED: "cancelled"}
    if request.as_json:
        out.object(result_object(outcomes.get(code, "failed"), message=words))
    return code


async def _session(request: AskRequest, config: FleetConfig, out: Results) -> ExitCode:
    from symfonic_ray.compose import FleetOpenError, open_fleet
    from symfonic_ray.kernel.text import failure_line

    interrupts = Interrupts()
    interrupts.install()

    def on_stage(words: str) -> None:
        interrupts.install()
        say(f"{words} ...")

    say(f"connecting to the Ray at {request.address} ..." if request.address else _STARTING_RAY)
    code: ExitCode | None = None
    try:
        async with open_fleet(config, scope=request.scope, address=request.address, on_stage=on_stage) as fleet:
            interrupts.install()
            code = await _conversation(request, config, fleet, interrupts, out)
            say("closing ...")
    except asyncio.CancelledError:
        if not interrupts.received:
            raise
        if code is None:
            return _ended_early(request, out, ExitCode.CANCELLED, "interrupted before the question was put")
    except FleetOpenError as error:
        say(str(error))
        return _ended_early(request, out, _OPENING_CODES[error.stage], str(error))
    except Exception as error:
        if code is None:
            raise
        if request.debug:
            traceback.print_exc()
        say(f"the answer stands, but closing failed: {failure_line(error)}")  # and the one object has been printed
    return ExitCode.CANCELLED if interrupts.received or code is None else code


async def _conversation(
    request: AskRequest, config: FleetConfig, fleet: ObservedFleet, interrupts: Interrupts, out: Results
) -> ExitCode:
    from symfonic_ray.cli.result_object import result_object
    from symfonic_ray.compose import ask
    from symfonic_ray.kernel.text import failure_line

    recorder = _recorder(request, config)
    if request.record_as:
        recorder.begin()
    with _tree(request, config) as tree:
        forget, unrecord = fleet.observe(tree.on_event), fleet.observe(recorder.on_event)
        try:
            answer = await ask(
                fleet,
                config,
                scope=request.scope,
                question=request.question,
                input_path=request.input_path.absolute(),
                timeout_seconds=request.timeout_seconds,
            )
        except asyncio.CancelledError:
            if not interrupts.received:
                raise
            interrupts.absorb()  # closing goes on in this task, as an ordinary end
            recorder.end("cancelled", "interrupted")
            if request.as_json:
                out.object(result_object("cancelled", message="interrupted", records=tree.records))
            return ExitCode.CANCELLED
        except Exception as error:
            recorder.end("failed", failure_line(error))
            raise
        finally:
            forget()
            unrecord()
    recorder.end(str(answer.outcome), answer.message)
    code = _tell(request, answer, out)
    if recorder.recording:
        say(f"recorded: symfonic-ray runs show {recorder.run_id}")
    return code


def _recorder(request: AskRequest, config: FleetConfig) -> RunRecorder:
    from symfonic_ray.journal import RunRecorder, RunStore, state_file

    return RunRecorder(
        RunStore(state_file()),
        command=request.record_as,
        fleet=config.name,
        scope=request.scope,
        question=request.question,
        warn=say,
    )


def _tell(request: AskRequest, answer: Answer, out: Results) -> ExitCode:
    """Print the answer and what is to be said of it; the exit code."""
    from symfonic_ray.cli.result_object import result_object

    if answer.cause is not None and request.debug:
        traceback.print_exception(answer.cause)
    missed = sum(not record.outcome.delivered for record in answer.records)
    outcome, message, code = str(answer.outcome), answer.message, _CODES[str(answer.outcome)]
    if missed and request.strict and code is ExitCode.DELIVERED:
        outcome, code = "partial", ExitCode.PARTIAL
        message = f"{missed} of {len(answer.records)} hand-offs did not deliver"
    if request.as_json:
        out.object(
            result_object(
                outcome,
                answer=answer.text,
                message=message,
                quotes=answer.quotes,
                notes=answer.notes,
                records=answer.records,
                seconds=answer.seconds,
            )
        )
    elif answer.text:
        out.text(answer.text)
    say(f"{outcome} after {answer.seconds:.1f} s" + (f": {message}" if message else ""))
    return code


def _tree(request: AskRequest, config: FleetConfig) -> LiveTree | PlainTree:
    """A picture on a terminal that can move its cursor, lines anywhere else."""
    from rich.console import Console

    from symfonic_ray.report import LiveTree, PlainTree

    if sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"):
        console = Console(stderr=True, no_color=True if request.no_color else None)
        return LiveTree(console, title=config.name, scope=request.scope)
    return PlainTree(sys.stderr, scope=request.scope)
