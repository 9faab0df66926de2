"""The local model: a real SmolLM2, one server a node, which never outlives its users."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.adapters import local_lease
from symfonic_ray.adapters.errors import LocalModelError, MissingLibraryError
from symfonic_ray.adapters.local_lease import ServerLease, leased, model_file
from symfonic_ray.adapters.local_model import MODEL_NAME, LocalModel
from symfonic_ray.adapters.local_server import serve_leases
from symfonic_ray.agent import Agent, RunEnded, TextDelta
from symfonic_ray.delegation import PrebuiltChild, delegated_children
from symfonic_ray.testing import ScriptedModel, asking


def missing() -> str:
    try:
        model_file()
        import openai  # noqa: F401 - the import is the question
    except (MissingLibraryError, ImportError) as error:
        return str(error)
    return ""


MISSING = missing()
needs_the_model = [
    pytest.mark.local_model,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "the local model is here"),
    pytest.mark.timeout(120),
]


def real(test: Any) -> Any:
    """Mark a test that runs the real model."""
    for mark in needs_the_model:
        test = mark(test)
    return test


def until(holds: Callable[[], Any], seconds: float = 10.0) -> None:
    ends_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends_at, "it did not come true in time"
        time.sleep(0.02)


def servers(folder: Path) -> list[int]:
    """The processes that serve from ``folder``."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if any("local_server.py" in word for word in words) and any(str(folder) in word for word in words):
            found.append(int(entry.name))
    return found


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for servers of this test alone; in the end none of them may run."""
    place = Path(tempfile.mkdtemp(prefix="sr-", dir="/tmp"))  # a Unix socket's path is short
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    until(lambda: not servers(place))
    shutil.rmtree(place)


ASKED = "What is the capital of France?"


def agent(model: LocalModel) -> Agent:
    return Agent(model, system_prompt="Answer in one sentence.")


@real
async def test_the_model_answers_through_the_agent_and_the_response_says_who_wrote_it(folder: Path) -> None:
    async with LocalModel() as model:
        response = await agent(model).run(ASKED)
        assert "Paris" in response.final_response
        assert response.usage["output_tokens"] > 0
        assert response.report.model == MODEL_NAME == "SmolLM2-135M-Instruct"
        assert (await agent(model).run(ASKED)).final_response == response.final_response


@real
async def test_the_model_streams_and_two_models_share_one_server(folder: Path) -> None:
    async with LocalModel() as one, LocalModel() as other:
        (plain, events) = await asyncio.gather(agent(one).run(ASKED), heard(other))
        assert len(servers(folder)) == 1
    assert len([event for event in events if isinstance(event, TextDelta)]) > 2
    assert isinstance(events[-1], RunEnded)
    assert events[-1].response.final_response == plain.final_response


async def heard(model: LocalModel) -> list[Any]:
    return [event async for event in agent(model).stream(ASKED)]


@real
async def test_a_parent_hands_a_question_to_a_child_that_is_the_model(folder: Path) -> None:
    async with LocalModel() as model:
        team = delegated_children([PrebuiltChild(name="small", description="answers", agent=agent(model))], scope="a")
        parent = ScriptedModel(asking(("run_agent", {"name": "small", "task": ASKED})), "done")
        response = await Agent(parent, fleet=team).run("go")
    assert response.delegated_to == ("small",)
    assert "Paris" in response.messages[2].content
    assert response.usage["total_tokens"] > 0


@real
async def test_an_agent_with_tools_over_a_model_without_answers_without_them(folder: Path) -> None:
    def look() -> str:
        return "seen"

    async with LocalModel(answer_tokens=8) as model:
        response = await Agent(model, [look]).run(ASKED)
    assert response.report.binding == "no_bind_tools"
    assert response.final_response


@real
async def test_a_server_that_died_is_started_again_at_the_next_question(folder: Path) -> None:
    async with LocalModel(answer_tokens=8) as model:
        await agent(model).run(ASKED)
        (first,) = servers(folder)
        os.kill(first, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{first}").exists())
        assert (await agent(model).run(ASKED)).final_response
        assert first not in servers(folder)


@real
async def test_a_start_that_is_cancelled_leaves_no_server(folder: Path) -> None:
    model = LocalModel()
    asking_it = asyncio.create_task(agent(model).run(ASKED))
    await asyncio.sleep(0.2)
    asking_it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking_it
    await model.aclose()
    await asyncio.to_thread(until, lambda: not servers(folder), 20.0)


HOLDER = """
import sys, time
from pathlib import Path
from symfonic_ray.adapters.local_lease import leased, model_file
lease = leased(model_file(), seconds=60, folder=Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@real
def test_a_holder_that_is_killed_takes_the_server_with_it(folder: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder / "own")], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder.stdout as said:
        assert said.readline() == b"held\n"
        assert servers(folder)
        holder.kill()
        holder.wait()
    until(lambda: not servers(folder))


@real
def test_those_who_come_at_once_start_one_server(folder: Path) -> None:
    leases: list[ServerLease] = []
    comers = [
        threading.Thread(target=lambda: leases.append(leased(model_file(), seconds=60, folder=folder / "own")))
        for _ in range(6)
    ]
    for comer in comers:
        comer.start()
    for comer in comers:
        comer.join()
    assert len({lease.base_url for lease in leases}) == 1
    assert len(servers(folder)) == 1
    for lease in leases[1:]:
        lease.close()
    assert leases[0].alive
    leases[0].close()
    leases[0].close()


@real
def test_a_server_that_cannot_start_is_an_error_with_its_last_words(folder: Path) -> None:
    no_weights = folder / "empty.gguf"
    no_weights.write_bytes(b"")
    with pytest.raises(LocalModelError, match="did not start") as caught:
        leased(no_weights, seconds=30, folder=folder / "own")
    assert "Failed to init" in str(caught.value)


@real
def test_the_server_is_given_no_key_of_ours_and_lets_nobody_in_without_its_own(folder: Path) -> None:
    import urllib.error
    import urllib.request

    lease = leased(model_file(), seconds=60, folder=folder / "own")
    (server,) = servers(folder)
    assert b"sk-canary" not in Path(f"/proc/{server}/environ").read_bytes()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{lease.base_url}/models", timeout=10)
    caught.value.close()
    assert caught.value.code == 401
    assert lease.api_key not in repr(lease)
    lease.close()


def test_a_folder_that_others_may_enter_is_refused(folder: Path) -> None:
    (folder / "open").mkdir(mode=0o777)
    (folder / "open").chmod(0o777)
    with pytest.raises(LocalModelError, match="others"):
        local_lease._private(folder / "open")


def served(path: Path) -> threading.Thread:
    """A server of leases without a model."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener:
            serve_leases(listener, {"base_url": "http://127.0.0.1:1/v1", "api_key": "k"})

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def ask(path: Path) -> ServerLease:
    lease = local_lease._ask(path, time.monotonic() + 5)
    assert lease is not None
    return lease


def test_a_server_of_leases_ends_with_its_last_lease(folder: Path) -> None:
    path = folder / "s.sock"
    thread = served(path)
    first, second = ask(path), ask(path)
    assert first.base_url == "http://127.0.0.1:1/v1"
    first.close()
    assert not first.alive
    third = ask(path)
    second.close()
    assert thread.is_alive()
    third.close()
    thread.join(5)
    assert not thread.is_alive()


def test_a_lease_on_a_server_that_is_gone_is_not_alive(folder: Path) -> None:
    ours, theirs = socket.socketpair()
    lease = ServerLease(ours, "", "")
    before = lease.alive
    theirs.close()
    assert (before, lease.alive) == (True, False)
    lease.close()


def test_where_no_server_is_there_is_no_lease(folder: Path) -> None:
    assert local_lease._ask(folder / "none.sock", time.monotonic() + 1) is None
