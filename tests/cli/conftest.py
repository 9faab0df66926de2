"""The command without Ray: a fleet of plain functions in the place of a pool, and a project of the user's own."""

from __future__ import annotations

import itertools
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.config import FleetConfig
from symfonic_ray.delegation import DelegationRecord, HandOffEnded, HandOffEvent, HandOffStarted
from symfonic_ray.testing import FakeFleet

Child = Callable[[str], Awaitable[Any]]

PARENT = """
import json
from dataclasses import dataclass

from symfonic_ray.delegation import current_fleet


@dataclass(frozen=True)
class Quote:
    file: str
    line: int
    text: str
    child: str


@dataclass(frozen=True)
class Said:
    final_response: str
    quotes: tuple = ()
    notes: tuple = ()
    error: str = ""


class Parent:
    def __init__(self, scope):
        self.scope = scope

    async def run(self, query):
        wish = json.loads(query)
        print("a parent that prints to stdout")
        if wish["question"] == "fail":
            raise ValueError("no\\nsuch [bold]file[/bold]")
        if wish["question"] == "say nothing":
            return Said("", error="nothing to say")
        names = wish["question"].split()
        found = [(name, record) async for name, record in self.asked(names)]
        texts = [record.message for name, record in found if record.outcome.delivered]
        quotes = tuple(Quote("a.txt", 3, text, name) for name, text in zip(names, texts))
        return Said(f"{self.scope} asked {wish['input']}: {' '.join(texts)}", quotes, ("b.txt: empty",))

    async def asked(self, names):
        fleet = current_fleet()
        async for record in fleet.fan_out([(name, "read") for name in names]):
            yield record.name, record

    async def aclose(self):
        print("the parent is closed")
        raise OSError("its lock is gone")


async def build(scope):
    return Parent(scope)
"""

FLEET = """\
version: 1
name: readers
parent: PACKAGE.parent:build
children:
  - {name: reader, description: reads, build: "PACKAGE.parent:build"}
run_limits: {max_seconds: 60}
"""


class ObservedFakeFleet(FakeFleet):
    """A ``FakeFleet`` that tells of its hand-offs, as a pool's fleet does."""

    def __init__(self, children: Mapping[str, Child], *, scope: Any = "test", max_depth: int = 3) -> None:
        super().__init__(children, scope=scope, max_depth=max_depth)
        self.listeners: list[Callable[[HandOffEvent], None]] = []
        self._keys = itertools.count(1)

    def observe(self, listener: Callable[[HandOffEvent], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    async def delegate(self, name: str, task: Any, *, timeout_seconds: float | None = None) -> DelegationRecord:
        key, depth = next(self._keys), self.delegation.depth.child_depth(self.delegation.context.current_depth())
        self._tell(HandOffStarted(key, name, depth))
        record = await super().delegate(name, task, timeout_seconds=timeout_seconds)
        self._tell(HandOffEnded(key, record))
        return record

    def _tell(self, event: HandOffEvent) -> None:
        for listener in list(self.listeners):
            listener(event)


class Project:
    """A fleet file, the modules that it names, and an input folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = f"kids_{uuid.uuid4().hex[:8]}"
        (root / "actors").mkdir()
        (root / self.package).mkdir()
        (root / self.package / "__init__.py").touch()
        (root / self.package / "parent.py").write_text(PARENT)
        self.input = root / "notes"
        self.input.mkdir()
        self.fleet_file = root / "fleet.yaml"
        self.write(FLEET)

    def write(self, text: str) -> None:
        """Replace the fleet file; ``PACKAGE`` stands for the project's package."""
        self.fleet_file.write_text(text.replace("PACKAGE", self.package))


@pytest.fixture(autouse=True)
def _own_run_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes into the run store of whoever runs it."""
    monkeypatch.setenv("SYMFONIC_RAY_STATE", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    import_path = list(sys.path)
    made = Project(tmp_path)
    yield made
    sys.path[:] = import_path
    for name in [name for name in sys.modules if name.partition(".")[0] == made.package]:
        del sys.modules[name]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let ``open_fleet`` give a fake fleet of the given children, or raise; what it was asked for is noted."""

    def arrange(children: Mapping[str, Child], *, raising: Exception | None = None) -> list[str]:
        asked: list[str] = []

        @asynccontextmanager
        async def open_fake(
            config: FleetConfig, *, scope: str, address: str | None = None, on_stage: Callable[[str], None]
        ) -> AsyncIterator[ObservedFakeFleet]:
            asked.append(f"{config.name} {scope} {address}")
            if raising is not None:
                raise raising
            on_stage("building")
            print("(raylet) a line that Ray prints to stdout by itself")
            yield ObservedFakeFleet(children, scope=scope)
            asked.append("closed")

        monkeypatch.setattr("symfonic_ray.compose.open_fleet", open_fake)
        return asked

    return arrange
