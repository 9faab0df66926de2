"""A small server on loopback that speaks the OpenAI API and misbehaves on request. No model: it says its turns."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the server."""

    text: str = ""
    calls: Sequence[tuple[str | None, str, str]] = ()
    """Id, tool name and argument text of each call that the model asks for."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    """What the server says where the status is an error."""
    delay_seconds: float = 0.0
    """How long it says nothing at all."""
    cut: Literal["", "silently", "mid-line"] = ""
    """Where a stream ends early: between two events with a clean end, or in the middle of one."""
    one_index: bool = False
    """Whether a stream counts every call as number 0."""
    body: str | None = None
    """Sent in place of everything else."""


class StubServer:
    """Says its turns in order; the last one stands for every later request."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns: Sequence[Turn] = turns
        self.requests: list[dict[str, Any]] = []
        """The body of every request so far."""
        self.keys: list[str | None] = []
        """The authorization of every request so far."""
        self.arrivals: list[float] = []
        """When each request came, in seconds of the monotonic clock."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def base_url(self) -> str:
        """What a client is told."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def next_turn(self, request: dict[str, Any], key: str | None) -> Turn:
        """Note a request and say what it gets."""
        turn = self.turns[min(len(self.requests), len(self.turns) - 1)]
        self.requests.append(request)
        self.keys.append(key)
        self.arrivals.append(time.monotonic())
        return turn

    def __enter__(self) -> StubServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(stub: StubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == PATH
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = stub.next_turn(request, self.headers["Authorization"])
            time.sleep(turn.delay_seconds)
            try:
                if turn.status != 200:
                    self._whole(turn, json.dumps({"error": {"message": turn.error, "type": "stub"}}))
                elif turn.body is not None:
                    self._whole(turn, turn.body)
                elif request.get("stream"):
                    self._stream(turn)
                else:
                    self._whole(turn, json.dumps(completion(turn)))
            except OSError:  # the client gave up
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _whole(self, turn: Turn, body: str) -> None:
            self._head(turn, "application/json", {"Content-Length": str(len(body.encode()))})
            self.wfile.write(body.encode())

        def _stream(self, turn: Turn) -> None:
            self._head(turn, "text/event-stream", {"Transfer-Encoding": "chunked"})
            events = [f"data: {json.dumps(event)}\n\n" for event in chunks(turn)]
            if turn.cut == "mid-line":
                self._piece(events[0])
                self.wfile.write(b"40\r\n" + events[1][:12].encode())
                self.close_connection = True
                return
            for event in events[:-2] if turn.cut else [*events, "data: [DONE]\n\n"]:
                self._piece(event)
            self.wfile.write(b"0\r\n\r\n")

        def _piece(self, text: str) -> None:
            raw = text.encode()
            self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

        def _head(self, turn: Turn, kind: str, more: dict[str, str]) -> None:
            self.send_response(turn.status)
            for name, value in {"Content-Type": kind, **turn.headers, **more}.items():
                self.send_header(name, value)
            self.end_headers()

    return Handler


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def completion(turn: Turn) -> dict[str, Any]:
    """A turn as one whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in turn.calls
        ]
    finish = "tool_calls" if turn.calls else "stop"
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": USAGE,
    }


def chunks(turn: Turn) -> Iterator[dict[str, Any]]:
    """A turn in pieces: words, then each call's name, then its arguments in halves, then the end and the usage."""
    for word in turn.text.split(" "):
        yield _chunk({"content": word if word == turn.text.split(" ")[0] else f" {word}"})
    for place, (call_id, name, arguments) in enumerate(turn.calls):
        index = 0 if turn.one_index else place
        middle = len(arguments) // 2
        yield _chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": {"name": name}}]})
        for part in (arguments[:middle], arguments[middle:]):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield _chunk({}, finish="tool_calls" if turn.calls else "stop")
    yield {
        "id": "stub",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "stub",
        "choices": [],
        "usage": USAGE,
    }


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "stub", "object": "chat.completion.chunk", "created": 0, "model": "stub", "choices": [choice]}
