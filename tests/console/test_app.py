"""The console answers on this machine, to whoever has its token, and to no other page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from symfonic_ray.console.app import console_app

TOKEN = "the-token"
PORT = 4711
HERE = f"http://127.0.0.1:{PORT}"
DEEDS = ("freeze", "thaw", "cancel")


class Watched:
    """A pool that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def since(self, change: int) -> dict[str, Any]:
        return {"change": 7, "runs": []}

    def freeze(self, scope_key: str | None) -> None:
        if scope_key == "bad":
            raise ValueError("names no tenant")
        self.asked.append(("freeze", scope_key))

    def thaw(self, scope_key: str | None) -> None:
        self.asked.append(("thaw", scope_key))

    async def cancel(self, scope_key: str, root_run_id: str) -> dict[str, Any]:
        self.asked.append(("cancel", scope_key, root_run_id))
        return {"stopped": ["r"], "killed": [], "finished": []}


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def client(watched: Watched) -> TestClient:
    return TestClient(console_app(watched, TOKEN, lambda: PORT), base_url=HERE)


WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


def test_the_page_needs_no_token_and_holds_no_secret(client: TestClient) -> None:
    for path, kind in (("/", "text/html"), ("/console.css", "text/css"), ("/console.js", "text/javascript")):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, kind)
        assert TOKEN not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
    assert client.get("/../app.py").status_code == 404
    assert client.get("/view.py").status_code == 404


@pytest.mark.parametrize("given", [None, "Bearer no", "Bearer", TOKEN[:-1], f"Basic {TOKEN}"])
def test_nothing_is_told_or_done_without_the_token(client: TestClient, watched: Watched, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    assert client.get("/events", headers=headers).status_code == 401
    for name in DEEDS:
        assert client.post(f"/do/{name}", headers=headers, json={"scope_key": "acme"}).status_code == 401
    assert client.get(f"/events?token={TOKEN}").status_code == 401
    assert watched.asked == []


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"Host": f"evil.example:{PORT}"}, 421),  # a name that was made to point here
        ({"Host": "127.0.0.1:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_another_name_or_another_page_is_refused_even_with_the_token(
    client: TestClient, watched: Watched, header: dict[str, str], status: int
) -> None:
    assert client.post("/do/freeze", headers=WITH_TOKEN | header, json={}).status_code == status
    assert client.get("/", headers=header).status_code == status
    assert watched.asked == []


def test_the_deeds_reach_the_pool(client: TestClient, watched: Watched) -> None:
    own = WITH_TOKEN | {"Origin": HERE}
    assert client.post("/do/freeze", headers=own, json={"scope_key": "acme"}).json() == {"done": "frozen"}
    assert client.post("/do/thaw", headers=own, json={}).json() == {"done": "thawed"}
    asked = {"scope_key": "acme", "root_run_id": "r"}
    assert client.post("/do/cancel", headers=own, json=asked).json()["stopped"] == ["r"]
    assert watched.asked == [("freeze", "acme"), ("thaw", None), ("cancel", "acme", "r")]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("freeze", b"{"),
        ("freeze", b"[]"),
        ("freeze", b'{"scope_key": 7}'),
        ("freeze", b'{"scope_key": "bad"}'),
        ("freeze", b"x" * 10_000),
        ("cancel", b'{"scope_key": "acme"}'),
        ("cancel", b'{"root_run_id": "r"}'),
        ("explode", b"{}"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(client: TestClient, watched: Watched, name: str, body: bytes) -> None:
    answer = client.post(f"/do/{name}", headers=WITH_TOKEN, content=body)
    assert answer.status_code == 400
    assert answer.text
    assert watched.asked == []
    assert client.get(f"/do/{name}", headers=WITH_TOKEN).status_code == 405


async def test_events_are_a_stream_of_json(watched: Watched) -> None:
    from symfonic_ray.console.app import _changes

    class Request:
        asked = 0

        async def is_disconnected(self) -> bool:
            self.asked += 1
            return self.asked > 2

    request: Any = Request()
    told = [json.loads(message["data"]) async for message in _changes(watched, request)]
    assert told == [{"change": 7, "runs": []}] * 2
