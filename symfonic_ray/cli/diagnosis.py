"""What this machine offers a fleet, as findings. Reads and measures; changes nothing, starts no Ray.

Everything a check looks at is passed in, so each can be asked about any machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from symfonic_ray.kernel.text import clipped, collapsed

PYTHON_FLOOR = (3, 11)
RAY_FLOOR = (2, 60)
LOOK_SECONDS = 30.0  # a process that loads Ray and joins, on a busy machine
REACH_SECONDS = 10.0  # spec/trust.md: an unreachable address is an error within 10 s
SHARED_MEMORY_BYTES = 512 * 1024 * 1024
DISK_FREE_FRACTION = 0.05  # Ray refuses new objects on a disk that is 95 % full
DISK_BYTES = 1024**3  # a local Ray writes 240 MB (shared/ray-facts.md, 5)

_DASHBOARD = re.compile(r"/dashboard/dashboard\.py .*?--host=(\S+)")
_LOOPBACK = ("localhost", "::1", "[::1]")

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One line of the doctor."""

    check: str
    level: Level
    words: str
    remedy: str = ""
    """What to do; empty when all is well."""

    def __str__(self) -> str:
        return f"{self.level:<4}  {self.check}: {self.words}" + (f"; {self.remedy}" if self.remedy else "")


def python_version(running: tuple[int, int]) -> DoctorFinding:
    """Whether this Python is new enough; ``running`` is (major, minor)."""
    words = f"{running[0]}.{running[1]}"
    if running >= PYTHON_FLOOR:
        return DoctorFinding(check="python", level="ok", words=words)
    floor = ".".join(map(str, PYTHON_FLOOR))
    return DoctorFinding(check="python", level="fail", words=words, remedy=f"use Python {floor} or newer")


def installed_version(package: str, floor: tuple[int, ...] = ()) -> DoctorFinding:
    """Whether ``package`` is installed and, where ``floor`` is given, new enough. Does not import it."""
    wanted = ".".join(map(str, floor))
    remedy = f"pip install '{package}>={wanted}'" if floor else f"pip install {package}"
    try:
        found = version(package)
    except PackageNotFoundError:
        return DoctorFinding(check=package, level="fail", words="not installed", remedy=remedy)
    if importlib.util.find_spec(package) is None:
        return DoctorFinding(check=package, level="fail", words="installed, but cannot be imported", remedy=remedy)
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[: len(floor)])
    if numbers < floor:
        return DoctorFinding(check=package, level="fail", words=f"{found}, older than {wanted}", remedy=remedy)
    return DoctorFinding(check=package, level="ok", words=found)


def address(given: str | None, connect: Callable[[str, int], None]) -> DoctorFinding:
    """Whether a cluster answers at the address; ``connect(host, port)`` raises ``OSError`` when none does."""
    if not given or given in ("auto", "local"):
        words = "none set: each command starts and stops a local Ray" if given != "auto" else "auto: whatever runs here"
        return DoctorFinding(check="address", level="ok", words=words)
    host, _, port = given.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        remedy = "write it as HOST:PORT, such as 10.0.0.5:6379"
        return DoctorFinding(check="address", level="fail", words=f"{given} has no host and port", remedy=remedy)
    try:
        connect(host.strip("[]"), int(port))
    except OSError as error:
        remedy = "start the cluster, or unset RAY_ADDRESS to use a local Ray"
        words = f"nothing answers at {given} ({error.strerror or error})"
        return DoctorFinding(check="address", level="fail", words=words, remedy=remedy)
    return DoctorFinding(check="address", level="ok", words=f"something answers at {given}")


def connect_within(host: str, port: int) -> None:
    """Open and close a TCP connection within 10 seconds; ``OSError`` when that fails."""
    socket.create_connection((host, port), timeout=REACH_SECONDS).close()


def cluster(look: Callable[[], Mapping[str, Any]]) -> DoctorFinding:
    """Whether a cluster lets us in, and whether actors on it have outlived whoever made them.

    Args:
        look: gives ``detached``, a list of actors with ``name``, ``namespace`` and ``class``, or ``error`` in words;
            raises ``TimeoutError``.
    """
    try:
        seen = look()
    except TimeoutError as error:
        remedy = "check that 'ray status' answers there"
        return DoctorFinding(check="cluster", level="fail", words=f"did not let us in: {error}", remedy=remedy)
    if problem := seen.get("error"):
        remedy = "use the cluster's own Ray and Python versions and its token"
        words = f"did not let us in: {clipped(collapsed(str(problem)), limit_bytes=600)}"
        return DoctorFinding(check="cluster", level="fail", words=words, remedy=remedy)
    detached = [f"{actor['name']} ({actor['class']}, namespace {actor['namespace']})" for actor in seen["detached"]]
    if not detached:
        return DoctorFinding(check="cluster", level="ok", words="lets us in; no detached actor is left on it")
    listed = ", ".join(detached[:5]) + (", ..." if len(detached) > 5 else "")
    words = f"{len(detached)} detached actors outlive whoever made them: {collapsed(listed)}"
    remedy = "if nobody needs one: ray.kill(ray.get_actor(NAME, namespace=NAMESPACE)); symfonic-ray makes none"
    return DoctorFinding(check="cluster", level="warn", words=words, remedy=remedy)


def look_at_cluster(given: str) -> Mapping[str, Any]:
    """Join a cluster in a process of its own, look and leave; ``TimeoutError`` when it takes too long."""
    program = (sys.executable, "-m", "symfonic_ray.cluster.inspection", given)
    try:
        ended = subprocess.run(program, capture_output=True, text=True, timeout=LOOK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"no answer within {LOOK_SECONDS:g} seconds") from None
    try:
        seen: Mapping[str, Any] = json.loads(ended.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": ended.stderr.strip()[-600:] or f"the look ended with code {ended.returncode}"}
    return seen


def authentication(environment: Mapping[str, str], home: Path) -> DoctorFinding:
    """Which authentication Ray uses, and whether others on this machine can read its token."""
    mode = environment.get("RAY_AUTH_MODE")
    words = f"mode {mode}" if mode else "mode not set: a token for a local Ray"
    if mode == "disabled":
        remedy = "unset RAY_AUTH_MODE unless the network keeps strangers out"
        return DoctorFinding(check="auth", level="warn", words=words, remedy=remedy)
    token = Path(environment.get("RAY_AUTH_TOKEN_PATH") or home / ".ray" / "auth_token")
    try:
        permissions = stat.S_IMODE(token.stat().st_mode)
    except OSError:
        return DoctorFinding(check="auth", level="ok", words=f"{words}, no token file yet")
    if permissions & 0o077:
        words = f"{words}, {token} has the mode {permissions:04o}: others can read it"
        return DoctorFinding(check="auth", level="warn", words=words, remedy=f"chmod 600 {token}")
    return DoctorFinding(check="auth", level="ok", words=f"{words}, {token} is private")


def room(check: str, folder: Path, *, least_bytes: int, least_fraction: float = 0.0) -> DoctorFinding:
    """Whether ``folder`` has room: at least so many free bytes and so great a part of the whole."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return DoctorFinding(check=check, level="ok", words=f"{folder} is not used on this system")
    words = f"{usage.free / 1024**3:.1f} GiB free in {folder}"
    if usage.free < least_bytes or usage.free < usage.total * least_fraction:
        return DoctorFinding(check=check, level="warn", words=words, remedy="make room, or Ray stops taking objects")
    return DoctorFinding(check=check, level="ok", words=words)


def leftovers(processes: Iterator[tuple[int, str]]) -> DoctorFinding:
    """Whether Ray processes of this user run; ``processes`` are (process id, command line)."""
    found = sorted(pid for pid, command in processes if _is_ray(command))
    if not found:
        return DoctorFinding(check="leftovers", level="ok", words="no Ray process of yours is running")
    listed = " ".join(map(str, found[:8])) + (" ..." if len(found) > 8 else "")
    words = f"{len(found)} Ray processes of yours are running: {listed}"
    remedy = "end them with kill if no work of yours uses them"
    return DoctorFinding(check="leftovers", level="warn", words=words, remedy=remedy)


def dashboard_address(processes: Iterator[tuple[int, str]]) -> DoctorFinding:
    """Whether a Ray dashboard of this user listens beyond this machine; it runs jobs for whoever reaches it."""
    hosts = sorted({found[1] for _, command in processes if (found := _DASHBOARD.search(command)) is not None})
    if not hosts:
        return DoctorFinding(check="dashboard", level="ok", words="none of yours is running")
    open_to_others = [host for host in hosts if host not in _LOOPBACK and not host.startswith("127.")]
    words = f"listens on {', '.join(open_to_others or hosts)}"
    if open_to_others:
        remedy = "start Ray with --dashboard-host=127.0.0.1, or keep strangers off that network"
        return DoctorFinding(check="dashboard", level="warn", words=words, remedy=remedy)
    return DoctorFinding(check="dashboard", level="ok", words=words)


def own_processes(proc: Path = Path("/proc")) -> Iterator[tuple[int, str]]:
    """Process id and command line of this user's processes; nothing where there is no ``/proc``."""
    for entry in proc.iterdir() if proc.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        try:
            if entry.stat().st_uid == os.getuid():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(entry.name), command.decode("utf-8", "replace")
        except OSError:  # it has ended since it was listed
            continue


def _is_ray(command: str) -> bool:
    program = Path(command.partition(" ")[0]).name
    return program in ("raylet", "gcs_server") or command.startswith("ray::")
