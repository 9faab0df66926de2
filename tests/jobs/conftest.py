"""A head of the test run's own: token auth, its own ports, its dashboard; ended by its process group alone."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Head:
    """A running head."""

    address: str
    """Of its dashboard."""
    environment: dict[str, str]
    """With the token that it wants."""
    folder: Path
    """Where it keeps its session."""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, each another."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for made in sockets:
            made.bind(("127.0.0.1", 0))
        return [made.getsockname()[1] for made in sockets]


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    """``ray start --head`` with token auth on loopback."""
    folder = Path(tempfile.mkdtemp(prefix="srj", dir="/tmp"))  # short: Ray's sockets live below it
    names = ("port", "dashboard-port", "dashboard-agent-listen-port", "ray-client-server-port")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {
        "SYMFONIC_RAY_STATE": str(folder / "state"),
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "RAY_USAGE_STATS_ENABLED": "0",
        "CLUSTER_SECRET": "from-the-cluster",
    }
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--num-cpus=2"]
    command += ["--node-ip-address=127.0.0.1", "--include-dashboard=true", "--dashboard-host=127.0.0.1"]
    command += [f"--temp-dir={folder}", "--disable-usage-stats", "--object-store-memory=100000000"]
    command += [f"--{name}={port}" for name, port in ports.items()]
    with (folder / "start.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    address = f"http://127.0.0.1:{ports['dashboard-port']}"
    try:
        _wait_for(address, environment["RAY_AUTH_TOKEN"], process, folder / "start.log")
        yield Head(address, environment, folder)
    finally:
        _end(process, folder)
        shutil.rmtree(folder, ignore_errors=True)


def processes_of(words: str) -> dict[int, str]:
    """Processes with ``words`` in their command line, by id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if words in line:
                    found[int(entry.name)] = line
    return found


def _wait_for(address: str, token: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        request = urllib.request.Request(f"{address}/api/version", headers={"Authorization": f"Bearer {token}"})
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(request, timeout=2):
            return
        time.sleep(0.2)
    raise AssertionError(f"no dashboard: {log.read_text()}")


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.send_signal(signal.SIGTERM)  # 'ray start --block' ends the processes that it started
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(15)
    for pid in {process.pid, *processes_of(str(folder))}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(5)
