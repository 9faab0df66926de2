"""Reaching a cluster, or saying why not, in time."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from symfonic_ray.cluster import Cluster, ClusterUnreachableError
from symfonic_ray.cluster.ray_thread import RayThread

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Listens, and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{server.getsockname()[1]}"


async def test_a_ray_of_this_process_is_joined_and_left_running(local_ray: None) -> None:
    async with Cluster.connect("127.0.0.1:1") as cluster:
        assert cluster.owned is False
    assert ray.is_initialized()


async def test_an_address_where_nobody_listens_is_refused_at_once(
    closed_port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    started = time.monotonic()
    with pytest.raises(ClusterUnreachableError) as caught:
        async with Cluster.connect(closed_port):
            pass
    assert time.monotonic() - started < 10
    assert closed_port in str(caught.value)
    assert "ray status" in caught.value.hint


async def test_the_environment_s_address_is_used_when_none_is_given(
    closed_port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", f"ray://{closed_port}")
    with pytest.raises(ClusterUnreachableError, match="ray://"):
        async with Cluster.connect():
            pass


CONNECT = """
import asyncio, sys, time
from symfonic_ray.cluster import Cluster, ClusterUnreachableError

async def main():
    started = time.monotonic()
    try:
        async with Cluster.connect(sys.argv[1]):
            print("joined")
    except ClusterUnreachableError as error:
        print(time.monotonic() - started, error)

asyncio.run(main())
"""


def test_something_that_listens_and_is_no_ray_is_refused_within_ten_seconds_and_the_process_ends(
    silent_server: str,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, silent_server], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    seconds, _, words = done.stdout.strip().partition(" ")
    assert float(seconds) < 10
    assert "does not answer as Ray does" in words
    assert done.returncode == 0


async def test_the_thread_of_ray_does_calls_in_order_and_bounds_the_waiting() -> None:
    thread, log = RayThread(), []

    def slow() -> None:
        time.sleep(0.2)
        log.append("slow")

    with pytest.raises(TimeoutError):
        await thread.do(slow, 0.05)
    assert await thread.do(lambda: len(log), 5) == 1
    with pytest.raises(ZeroDivisionError):
        await thread.do(lambda: 1 / 0, 5)
    assert log == ["slow"]
    thread.end()
