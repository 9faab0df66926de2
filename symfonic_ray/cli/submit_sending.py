"""From the request to submit a fleet to the exit code of its job.

Everything that can be refused is refused before anything is uploaded, and said with the remedy.
"""

from __future__ import annotations

import re
import secrets
import shlex
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.streams import Results, results, say

if TYPE_CHECKING:
    from symfonic_ray.cli.submit_plan import SubmitPlan
    from symfonic_ray.config import FleetConfig

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """What the user asked for."""

    fleet_file: Path
    address: str | None
    question: str | None
    input_path: Path | None
    tasks_file: Path | None
    child: str | None
    output: Path | None
    working_dir: Path
    scope: str
    model: str | None
    timeout_seconds: float | None
    start_seconds: float
    strict: bool
    env_json: str | None
    runtime_env_json: str | None
    secrets: tuple[str, ...]
    submission_id: str | None
    wait: bool
    dry_run: bool
    as_json: bool
    debug: bool


def carry_out(request: SubmitRequest) -> ExitCode:
    """Do all of it; the exit code. Whatever goes wrong has been said when this returns."""
    from symfonic_ray.config import ConfigError
    from symfonic_ray.jobs import ParcelError, SubmissionError

    with results() as out:
        try:
            return _submitted(request, plan_of(request), out)
        except ConfigError as error:
            for problem in error.problems:
                say(str(problem))
            return _ended(request, out, ExitCode.USAGE, "invalid", f"the fleet file has {len(error.problems)} problems")
        except ParcelError as error:
            say(str(error))
            return _ended(request, out, ExitCode.USAGE, "invalid", str(error))
        except SubmissionError as error:
            say(str(error))
            return _ended(request, out, ExitCode.UNREACHABLE, "unreachable", str(error))
        except Exception as error:
            from symfonic_ray.kernel.text import failure_line

            if request.debug:
                traceback.print_exc()
            say(f"this should not have happened: {failure_line(error)}; --debug shows where")
            return _ended(request, out, ExitCode.FAILED, "failed", failure_line(error))


def plan_of(request: SubmitRequest) -> SubmitPlan:
    """What is to be sent and run.

    Raises:
        ParcelError: for a request that cannot be carried out.
        ConfigError: for a fleet file that is wrong.
    """
    from symfonic_ray.cli.submit_plan import SubmitPlan
    from symfonic_ray.config import load_fleet
    from symfonic_ray.jobs import ParcelError, parcel_of, runtime_env_of

    submission_id = request.submission_id or f"symfonic-ray-{secrets.token_hex(6)}"
    if not _ID.match(submission_id):
        remedy = "use up to 80 letters, digits and . _ -"
        raise ParcelError(f"--submission-id {submission_id!r}", "is no id", remedy)
    if (request.question is None) == (request.tasks_file is None):
        raise ParcelError("submit", "needs either a question or tasks", "give --ask TEXT or --tasks FILE")
    if request.address is None and not request.dry_run:
        raise ParcelError("submit", "needs the cluster's dashboard", "give --address http://HEAD:8265")
    if request.output is not None and request.output.exists():
        raise ParcelError(f"--output {request.output}", "is there already", "name another file, or remove it")
    runtime_env = runtime_env_of(
        env_json=request.env_json, runtime_env_json=request.runtime_env_json, secrets=request.secrets
    )
    config = load_fleet(request.fleet_file, model=request.model)
    parcel = parcel_of(request.working_dir, tasks=request.tasks_file)
    fleet = parcel.name_of("fleet file", request.fleet_file)
    if (actors := config.project_root / "actors").is_dir():
        parcel.name_of("folder", actors)
    if request.tasks_file is not None:
        from symfonic_ray.jobs import TASKS_NAME

        command = ["map", fleet, _child(request, config), TASKS_NAME]
    else:
        if request.input_path is None:
            raise ParcelError("--ask", "asks about nothing", "give --input PATH, a file or folder of the working dir")
        assert request.question is not None
        command = ["run", fleet, "--ask", request.question, "--input", parcel.name_of("input", request.input_path)]
        command += ["--model", request.model] if request.model is not None else []
    command += ["--scope", request.scope]
    command += ["--timeout", f"{request.timeout_seconds:g}"] if request.timeout_seconds is not None else []
    command += ["--strict"] if request.strict else []
    parcel.contents.check()
    needed = [word for name in request.secrets for word in ("--need", name)]
    started = ["python", "-m", "symfonic_ray.cli.submit_job", submission_id, *needed, *command]
    return SubmitPlan(
        submission_id=submission_id,
        parcel=parcel,
        entrypoint=f"exec {shlex.join(started)}",  # no shell in between: it would pass a stop on a second time
        runtime_env=runtime_env,
        secrets=request.secrets,
    )


def _child(request: SubmitRequest, config: FleetConfig) -> str:
    from symfonic_ray.jobs import ParcelError

    known = [child.name for child in config.children]
    if request.child is None and len(known) == 1:
        return known[0]
    if request.child not in known:
        problem = "is not given" if request.child is None else f"{request.child!r} is not in this fleet"
        raise ParcelError("--child", problem, f"name one of {', '.join(known)}")
    return request.child


def _submitted(request: SubmitRequest, plan: SubmitPlan, out: Results) -> ExitCode:
    if request.dry_run:
        if request.as_json:
            out.object(plan.as_object())
        else:
            out.text(plan.as_text())
        return ExitCode.DELIVERED
    from symfonic_ray.jobs.client import JobCluster

    assert request.address is not None
    say(plan.as_text())
    cluster = JobCluster(request.address)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "parcel.zip"
        plan.parcel.write(packed)
        say(f"uploading {packed.stat().st_size / 1e6:.1f} MB to {request.address} ...")
        cluster.submit(
            entrypoint=plan.entrypoint,
            submission_id=plan.submission_id,
            runtime_env=plan.runtime_env,
            parcel=packed,
        )
    say(f"submitted {plan.submission_id}")
    if not request.wait:
        if request.as_json:
            out.object({"id": plan.submission_id, "status": "PENDING"})
        else:
            out.text(plan.submission_id)
        return ExitCode.DELIVERED
    try:
        return _waited(request, plan, cluster, out)
    except KeyboardInterrupt:
        say(f"the job goes on; to end it: symfonic-ray submit stop {plan.submission_id} --address {request.address}")
        return _ended(request, out, ExitCode.CANCELLED, "cancelled", "nobody waits for the job any more; it goes on")


def _waited(request: SubmitRequest, plan: SubmitPlan, cluster: Any, out: Results) -> ExitCode:
    """Any: a JobCluster, whose module must not be imported before the first word is out."""
    from symfonic_ray.cli.submit_following import ending_of, fetch_results, follow, say_unless_outcome

    extras = any(name != "env_vars" for name in plan.runtime_env)
    cluster.started(plan.submission_id, seconds=request.start_seconds, runtime_env=extras)
    state = follow(cluster, plan.submission_id, say_unless_outcome)
    ending = ending_of(cluster, state)
    if request.tasks_file is not None:
        fetch_results(cluster, state, ending, request.output or Path(f"{plan.submission_id}.results.jsonl"))
    if request.as_json:
        out.object(ending)
    elif answer := ending.get("answer"):
        out.text(answer)
    message = ending.get("message")
    say(f"{plan.submission_id} {ending['outcome']}" + (f": {message}" if message else ""))
    return ExitCode(ending["exit_code"])


def _ended(request: SubmitRequest, out: Results, code: ExitCode, outcome: str, words: str) -> ExitCode:
    if request.as_json:
        out.object({"outcome": outcome, "message": words, "exit_code": code})
    return code
