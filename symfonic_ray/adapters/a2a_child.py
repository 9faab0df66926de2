"""An agent somewhere else that speaks A2A, as a child. Decides what it is told, and stops what nobody waits for.

What it says of itself (its card, its errors) is another party's words: it is read, bounded, and followed nowhere.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterable
from contextlib import aclosing, suppress
from typing import Any

from symfonic_ray.adapters.foreign_child import ChildRun, ForeignAnswer, ForeignChild, tokens_used
from symfonic_ray.adapters.foreign_error import ForeignAgentError
from symfonic_ray.kernel.text import clipped, collapsed

REACH_SECONDS = 10.0
SILENCE_SECONDS = 300.0  # the longest without a word of it; the hand-off's own deadline is nearly always shorter
CANCEL_SECONDS = 2.0


class A2AError(RuntimeError):
    """What a remote agent did instead of answering."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        return f"the agent at {self.url} {self.problem}"


class A2AChild(ForeignChild):
    """Sends each task as one message and reads the answer from the message, or from the task's artifacts."""

    def __init__(self, url: str, *, token_env: str | None = None, tell_tenant: bool = False) -> None:
        """Nothing is asked yet.

        Args:
            url: where the agent's card is found: ``https://HOST/...``, without ``/.well-known/...``.
            token_env: name of the environment variable with a bearer token; it is read at each connection, in the
                process that connects. None for no authorization.
            tell_tenant: whether a scope that is a string is sent as the request's tenant; else nobody is named.
        Raises:
            ForeignAgentError: for what is no http address.
        """
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ForeignAgentError(str(url), "is no address of an A2A agent", "give https://HOST/PATH")
        self.url = url
        self.agent = None
        self._token_env = token_env
        self._tell_tenant = tell_tenant
        self._client: Any = None  # Any: the library is optional
        self._http: Any = None
        self._connecting = asyncio.Lock()

    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """The agent's text; a cancelled run cancels the remote task too.

        Raises:
            A2AError: when it cannot be reached, fails, refuses, or asks for more than a task.
        """
        from a2a.client.errors import A2AClientError
        from a2a.types import Message, Part, Role, SendMessageRequest
        from a2a.utils.errors import A2AError as ProtocolError

        message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=query)])
        message.metadata.update(run.lineage)
        request = SendMessageRequest(message=message)
        if self._tell_tenant and isinstance(run.scope, str):
            request.tenant = run.scope
        heard = _Heard()
        try:
            client = await self._connected()
            async with aclosing(client.send_message(request)) as events:
                async for event in events:
                    heard.take(event)
        except asyncio.CancelledError:
            await self._cancel(heard.task_id)
            raise
        except (A2AClientError, ProtocolError, OSError) as error:
            raise A2AError(self.url, f"cannot be asked: {_words(error)}") from None
        if heard.problem:
            raise A2AError(self.url, heard.problem)
        return ForeignAnswer(final_response="\n".join(heard.texts()), usage=heard.usage)

    def palette(self) -> tuple[str, ...]:
        """None: what tools it has is its own business, in its own place."""
        return ()

    async def aclose(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        http, self._http = self._http, None
        if client is not None:
            await client.close()
        if http is not None:
            await http.aclose()

    async def _connected(self) -> Any:
        async with self._connecting:
            if self._client is None:
                import httpx
                from a2a.client import ClientConfig, create_client

                headers = {}
                if self._token_env is not None:
                    token = os.environ.get(self._token_env)
                    if not token:
                        raise A2AError(self.url, f"needs a token; set {self._token_env} in the environment")
                    headers["Authorization"] = f"Bearer {token}"
                timeout = httpx.Timeout(SILENCE_SECONDS, connect=REACH_SECONDS)
                http = httpx.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False)
                try:
                    self._client = await create_client(self.url, ClientConfig(httpx_client=http))
                except BaseException:
                    await http.aclose()
                    raise
                self._http = http
            return self._client

    async def _cancel(self, task_id: str) -> None:
        """Ask the remote side to stop; whether it does is its own business."""
        if self._client is None or not task_id:
            return
        from a2a.types import CancelTaskRequest

        asking = asyncio.ensure_future(self._client.cancel_task(CancelTaskRequest(id=task_id)))
        with suppress(Exception):
            await asyncio.wait((asking,), timeout=CANCEL_SECONDS)
        asking.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await asking


class _Heard:
    """What has come of one message so far."""

    def __init__(self) -> None:
        self.task_id = ""
        self.problem = ""
        self.usage: dict[str, int] | None = None
        self._said: list[str] = []
        self._artifacts: dict[str, list[str]] = {}

    def take(self, event: Any) -> None:
        """One event of the stream."""
        match event.WhichOneof("payload"):
            case "message":
                self._said = _texts(event.message.parts)
                self._count(event.message)
            case "task":
                self.task_id = event.task.id
                for artifact in event.task.artifacts:
                    self._artifacts[artifact.artifact_id] = _texts(artifact.parts)
                self._count(event.task)
                self._stand(event.task.status)
            case "status_update":
                self.task_id = event.status_update.task_id
                self._count(event.status_update)
                self._stand(event.status_update.status)
            case "artifact_update":
                update = event.artifact_update
                before = self._artifacts.get(update.artifact.artifact_id, []) if update.append else []
                self._artifacts[update.artifact.artifact_id] = before + _texts(update.artifact.parts)

    def texts(self) -> list[str]:
        """What it gave: its artifacts, else its last words."""
        return [text for parts in self._artifacts.values() for text in parts] or self._said

    def _stand(self, status: Any) -> None:
        from a2a.types import TaskState

        words = " ".join(_texts(status.message.parts))
        if words:
            self._said = [words]
        name = TaskState.Name(status.state).removeprefix("TASK_STATE_").lower().replace("_", " ")
        if name in ("failed", "rejected", "canceled"):
            self.problem = f"ended as {name}" + (f": {clipped(collapsed(words), limit_bytes=1024)}" if words else "")
        elif name in ("input required", "auth required"):
            self.problem = f"wants more than a task ({name}), which a hand-off cannot give"

    def _count(self, told: Any) -> None:
        usage = dict(told.metadata).get("usage")
        if usage is not None:
            counts = {name: int(count) for name, count in dict(usage).items() if isinstance(count, int | float)}
            self.usage = tokens_used(counts) or self.usage


def _texts(parts: Iterable[Any]) -> list[str]:
    return [part.text for part in parts if part.text]


def _words(error: BaseException) -> str:
    return clipped(collapsed(f"{type(error).__name__}: {error}"), limit_bytes=1024)
