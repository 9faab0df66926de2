"""``symfonic-ray doctor``: is this machine ready? Decides which checks are made and in which order."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import typer

from symfonic_ray.cli import diagnosis
from symfonic_ray.cli.diagnosis import DoctorFinding
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import Address, AsJson
from symfonic_ray.cli.streams import results


def doctor(address: Address = None, as_json: AsJson = False) -> None:
    """Check whether this machine is ready.

    Versions, authentication, room, leftover processes, the dashboard's and the cluster's address. Starts no Ray; a
    cluster that is named is joined for a moment, to see whether it lets us in and what was left on it.

    \b
    Example:
      symfonic-ray doctor

    Each line is ok, warn or fail, with what to do. Exit code 1 when a line says fail.
    """
    with results() as out:
        findings = []
        for finding in _findings(address):
            findings.append(finding)
            if not as_json:
                out.text(str(finding))  # at once: the address may take 10 seconds
        failed = any(finding.level == "fail" for finding in findings)
        if as_json:
            listed = [
                {"check": finding.check, "level": finding.level, "words": finding.words, "remedy": finding.remedy}
                for finding in findings
            ]
            out.object({"schema_version": 1, "outcome": "fail" if failed else "ok", "findings": listed})
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.DELIVERED)


def _findings(address: str | None) -> Iterator[DoctorFinding]:
    yield diagnosis.python_version(sys.version_info[:2])
    yield diagnosis.installed_version("ray", diagnosis.RAY_FLOOR)
    yield diagnosis.installed_version("numpy")
    yield diagnosis.installed_version("pydantic", (2, 11))
    yield diagnosis.authentication(os.environ, Path.home())
    yield diagnosis.room("shared memory", Path("/dev/shm"), least_bytes=diagnosis.SHARED_MEMORY_BYTES)
    scratch = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir())
    yield diagnosis.room("disk", scratch, least_bytes=diagnosis.DISK_BYTES, least_fraction=diagnosis.DISK_FREE_FRACTION)
    yield diagnosis.leftovers(diagnosis.own_processes())
    yield diagnosis.dashboard_address(diagnosis.own_processes())
    reached = diagnosis.address(address, diagnosis.connect_within)
    yield reached
    if reached.level == "ok" and address and address not in ("auto", "local"):
        yield diagnosis.cluster(lambda: diagnosis.look_at_cluster(address))
