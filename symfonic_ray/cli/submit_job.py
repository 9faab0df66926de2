"""What runs on the cluster: one command of ours, and at the end of the log the line that says how it ended.

Started as ``python -m symfonic_ray.cli.submit_job ID [--need NAME]... COMMAND ...`` by a submitted job. Files that
outlive the job go among the logs of its node, where the dashboard gives them out.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from symfonic_ray.cli.exit_codes import ExitCode

_STDOUT = 1


def run_job(arguments: Sequence[str], *, folder: Path) -> ExitCode:
    """Run a job's command; the last line of stdout tells its outcome.

    Args:
        arguments: the job's id, the names that it needs, and the command without its program.
        folder: the job's working dir.
    """
    from symfonic_ray.jobs import outcome_line

    submission_id, needed, command = _parts(arguments)
    logs = _logs_of(folder)
    results = logs / f"symfonic-ray-{submission_id}-results.jsonl"
    missing = [name for name in needed if not os.environ.get(name)]
    if missing:
        words = f"the cluster's environment holds no {', '.join(missing)}; set it where Ray was started"
        code, told = ExitCode.USAGE, {"outcome": "invalid", "message": words}
    else:
        if command[0] == "map":
            command += ["-o", str(results)]
        code, told = _told_by([*command, "--no-record"])  # the run store of a cluster's machine is nobody's to look at
    line = outcome_line(told, exit_code=code, results_log=results.name if results.is_file() else None)
    try:
        (logs / f"symfonic-ray-{submission_id}-outcome.json").write_text(line + "\n")
    except OSError as error:  # the line itself is what whoever submitted it waits for
        print(f"the file of the outcome was not written: {error.strerror}", file=sys.stderr)
    sys.stderr.flush()
    print(line, flush=True)
    return code


def _parts(arguments: Sequence[str]) -> tuple[str, list[str], list[str]]:
    submission_id, *rest = arguments
    needed: list[str] = []
    while rest[0] == "--need":
        needed.append(rest[1])
        rest = rest[2:]
    return submission_id, needed, rest


def _logs_of(folder: Path) -> Path:
    """The logs of the Ray session that unpacked the working dir; that folder itself where Ray keeps it elsewhere."""
    for above in folder.parents:
        if above.name.startswith("session_") and (above / "logs").is_dir():
            return above / "logs"
    return folder


def _told_by(command: list[str]) -> tuple[ExitCode, dict[str, Any]]:
    """The exit code of a command with ``--json`` and the object that it printed."""
    from symfonic_ray.cli import main

    kept = os.dup(_STDOUT)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), _STDOUT)
        try:
            code = ExitCode(main([*command, "--json"]))
        finally:
            sys.stdout.flush()
            os.dup2(kept, _STDOUT)
            os.close(kept)
        printed.seek(0)
        lines = printed.read().decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            return code, told
    outcome = "cancelled" if code is ExitCode.CANCELLED else "failed"
    return code, {"outcome": outcome, "message": "it ended before it could say how; the log above tells more"}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the command takes it over, a stop is an interrupt
    raise SystemExit(run_job(sys.argv[1:], folder=Path.cwd()))
