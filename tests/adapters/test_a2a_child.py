"""A remote agent over A2A: a real server of the protocol's own package, on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse

from symfonic_ray.adapters.a2a_child import A2AChild, A2AError
from symfonic_ray.adapters.child_from import child_from
from symfonic_ray.adapters.foreign_error import ForeignAgentError
from symfonic_ray.delegation import PrebuiltChild, delegated_children

pytest.importorskip("a2a")


class Remote:
    """What the remote agent does with each text, and what it has seen."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.stopped = asyncio.Event()
        self.token = ""

    async def execute(self, context: Any, event_queue: Any) -> None:
        """By the first word of the task."""
        from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message
        from a2a.server.tasks import TaskUpdater
        from a2a.types import Part

        text = context.get_user_input()
        self.seen.append((text, dict(context.message.metadata), context.tenant))
        if text.startswith("say "):
            await event_queue.enqueue_event(new_text_message(f"said {text[4:]}"))
            return
        task = new_task_from_user_message(context.message)
        task.metadata.update({"usage": {"input_tokens": 7, "output_tokens": 3}})
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if text == "wait":
            await asyncio.sleep(60)
        if text == "fail":
            await updater.failed(updater.new_agent_message([Part(text="no\nluck")]))
        elif text == "ask":
            await updater.requires_input(updater.new_agent_message([Part(text="which one?")]))
        else:
            await updater.add_artifact([Part(text=f"first half of {text}")], artifact_id="one")
            await updater.add_artifact([Part(text="second half")], artifact_id="one", append=True)
            await updater.complete()

    async def cancel(self, context: Any, event_queue: Any) -> None:
        """Noted."""
        from a2a.server.tasks import TaskUpdater

        self.stopped.set()
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Quiet(uvicorn.Server):
    """Leaves the signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(remote: Remote) -> AsyncIterator[str]:
    """The remote agent's address."""
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface

    class Executor(AgentExecutor):
        execute = remote.execute
        cancel = remote.cancel

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    card = AgentCard(
        name="remote",
        description="answers",
        version="1",
        supported_interfaces=[AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")])

    async def guarded(request: Any, call_next: Any) -> Any:
        if remote.token and request.headers.get("authorization") != f"Bearer {remote.token}":
            return PlainTextResponse("no", 401)
        return await call_next(request)

    app.add_middleware(BaseHTTPMiddleware, dispatch=guarded)
    server = Quiet(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110  # it has no event for it
        await asyncio.sleep(0.01)
    try:
        yield url
    finally:
        server.should_exit = True
        await asyncio.wait((task,), timeout=5)
        listening.close()


async def test_the_answer_is_read_from_artifacts_or_from_a_message_with_its_usage() -> None:
    remote = Remote()
    async with serving(remote) as url:
        child = child_from(url)
        whole = await child.run("work", scope="acme", run_id="r1", root_run_id="r0", parent_run_id="r0")
        assert (whole.final_response, whole.usage["total_tokens"]) == ("first half of work\nsecond half", 10)
        assert (await child.run("say hello")).final_response == "said hello"
        text, told, tenant = remote.seen[0]
        assert (text, told["symfonic_run_id"], told["symfonic_root_run_id"], tenant) == ("work", "r1", "r0", "")
        assert "acme" not in str(told)
        await child.aclose()
        open_hearted = A2AChild(url, tell_tenant=True)
        await open_hearted.run("say x", scope="acme")
        assert remote.seen[-1][2] == "acme"
        await open_hearted.aclose()
        await open_hearted.aclose()


@pytest.mark.parametrize(("task", "words"), [("fail", "ended as failed: no luck"), ("ask", "wants more than a task")])
async def test_what_is_no_answer_is_an_error_in_one_line(task: str, words: str) -> None:
    async with serving(Remote()) as url:
        child = A2AChild(url)
        with pytest.raises(A2AError, match=words) as raised:
            await child.run(task)
        assert len(str(raised.value).splitlines()) == 1
        await child.aclose()


async def test_a_cancelled_run_cancels_the_remote_task() -> None:
    remote = Remote()
    async with serving(remote) as url:
        child = A2AChild(url)
        running = asyncio.create_task(child.run("wait"))
        async with asyncio.timeout(10):
            while not remote.seen:  # noqa: ASYNC110  # the server has no event for it
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await remote.stopped.wait()
        await child.aclose()


async def test_a_token_comes_from_the_environment_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote()
    remote.token = "sesame"
    async with serving(remote) as url:
        child = A2AChild(url, token_env="REMOTE_TOKEN")
        with pytest.raises(A2AError, match="set REMOTE_TOKEN"):
            await child.run("say x")
        monkeypatch.setenv("REMOTE_TOKEN", "sesame")
        assert (await child.run("say x")).final_response == "said x"
        await child.aclose()
        stranger = A2AChild(url)
        with pytest.raises(A2AError, match="cannot be asked"):
            await stranger.run("say x")
        await stranger.aclose()
    assert "sesame" not in repr(child)


async def test_an_agent_that_is_not_there_is_a_record_and_no_crash() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        child = PrebuiltChild(name="remote", description="answers", agent=A2AChild(url))
        record = await delegated_children([child]).tools.delegate("remote", "x")
    assert (record.reason, "cannot be asked" in record.message) == ("exception", True)


@pytest.mark.parametrize("url", ["", "remote.example", "ftp://x", "file:///etc/passwd"])
def test_what_is_no_address_is_refused_when_it_is_declared(url: str) -> None:
    with pytest.raises(ForeignAgentError, match="no address"):
        child_from(url, kind="a2a")
