"""The console's web side: one page, a stream of changes, three deeds. Loopback only, and nothing without the token.

The page itself holds no figure and no secret. Its token stands in the address's fragment, which no server and no log
sees, and travels in a header, which no other page can make a browser send. Requests under another host's name are
refused, so that a name that is made to point here reaches nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import Any, Protocol

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

EVERY_SECONDS = 0.5  # a change is shown within it; more often only costs
BODY_BYTES = 4096
_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
}
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Watched(Protocol):
    """What the console shows and steers."""

    def since(self, change: int) -> dict[str, Any]:
        """What has changed after a number, as plain JSON data."""
        ...

    def freeze(self, scope_key: str | None) -> None:
        """Take no work of a scope, or of any."""
        ...

    def thaw(self, scope_key: str | None) -> None:
        """Take work again."""
        ...

    async def cancel(self, scope_key: str, root_run_id: str) -> dict[str, Any]:
        """Stop a tree; its receipt as plain JSON data."""
        ...


def console_app(watched: Watched, token: str, port: Callable[[], int]) -> Starlette:
    """The application.

    Args:
        watched: the pool.
        token: asked of every request but those for the page's own files.
        port: where it is served, once that is known.
    """

    async def file(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in _TYPES:
            return PlainTextResponse("there is no such page", 404)
        text = (resources.files("symfonic_ray.console") / "page" / name).read_text("utf-8")
        return Response(text, media_type=_TYPES[name])

    async def events(request: Request) -> Response:
        return EventSourceResponse(_changes(watched, request), ping=15)

    async def deed(request: Request) -> Response:
        asked = await _body(request)
        if asked is None:
            return PlainTextResponse("send a small JSON object", 400)
        try:
            return JSONResponse(await _done(watched, request.path_params["name"], asked))
        except (ValueError, LookupError) as error:
            return PlainTextResponse(str(error), 400)

    async def guarded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = _refusal(request, token, port())
        response = await call_next(request) if refusal is None else refusal
        response.headers.update(_HEADERS)
        return response

    routes = [
        Route("/", file),
        Route("/events", events),
        Route("/do/{name}", deed, methods=["POST"]),
        Route("/{name}", file),
    ]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guarded)])


def _refusal(request: Request, token: str, port: int) -> Response | None:
    places = {f"127.0.0.1:{port}", f"localhost:{port}"}
    if request.headers.get("host", "") not in places:
        return PlainTextResponse("this console is reached as 127.0.0.1 only", 421)
    origin = request.headers.get("origin")
    if origin is not None and origin not in {f"http://{place}" for place in places}:
        return PlainTextResponse("another page may not ask this console", 403)
    if request.url.path.startswith(("/events", "/do/")):
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
            return PlainTextResponse("open the address that was printed when the console started", 401)
    return None


async def _changes(watched: Watched, request: Request) -> AsyncIterator[dict[str, str]]:
    """One message at once with everything, then what changes; figures every time."""
    told = 0
    while not await request.is_disconnected():
        news = watched.since(told)
        told = news["change"]
        yield {"data": json.dumps(news, ensure_ascii=True)}
        await asyncio.sleep(EVERY_SECONDS)


async def _body(request: Request) -> dict[str, Any] | None:
    raw = b""
    async for piece in request.stream():
        raw += piece
        if len(raw) > BODY_BYTES:
            return None
    try:
        asked = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return asked if isinstance(asked, dict) else None


async def _done(watched: Watched, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    scope_key = asked.get("scope_key")
    if scope_key is not None and not isinstance(scope_key, str):
        raise ValueError("scope_key is a string, or null for the whole pool")
    match name:
        case "freeze":
            watched.freeze(scope_key)
            return {"done": "frozen"}
        case "thaw":
            watched.thaw(scope_key)
            return {"done": "thawed"}
        case "cancel":
            root = asked.get("root_run_id")
            if not isinstance(root, str) or not root or scope_key is None:
                raise ValueError("cancel needs a scope_key and a root_run_id")
            return await watched.cancel(scope_key, root)
    raise LookupError("there is freeze, thaw and cancel")
