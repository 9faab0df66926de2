"""P16: a canary in the environment and in a fleet file is in no journal, run store, log, record, repr or plan.

The same through a real host is in tests/cluster/test_exception_shapes.py, through a provider in tests/adapters.
"""

from __future__ import annotations

import json
import logging
import os
import traceback
from pathlib import Path

import pytest

from symfonic_ray.adapters.openai_model import OpenAIModel
from symfonic_ray.config import ConfigError, load_fleet
from symfonic_ray.config.form import FleetForm
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord, HandOffEnded, HandOffEvent, HandOffStarted
from symfonic_ray.jobs import ParcelError, runtime_env_of
from symfonic_ray.journal import JobIdentity, RunJournal, RunRecorder, RunStore
from symfonic_ray.testing import FakeFleet

CANARY = "sk-canary-3b9d40e17c"
FLEET = """\
version: 1
name: readers
parent: canary_actors:build
parent_options: {api_key: "${PROVIDER_API_KEY}"}
children:
  - {name: reader, description: reads, build: "canary_actors:build", options: {api_key: "${PROVIDER_API_KEY}"}}
"""
ACTORS = "def build(scope, api_key=''):\n    return None\n"


@pytest.fixture(autouse=True)
def canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


@pytest.fixture
def fleet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "actors").mkdir()
    (tmp_path / "canary_actors.py").write_text(ACTORS)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET)
    return file


async def leaks(task: str) -> str:
    """Fails with its key in the words, its cause and its notes, as some clients do."""
    error = ValueError(f"refused key {os.environ['PROVIDER_API_KEY']} {'x' * 5000}")
    error.add_note(CANARY)
    raise error from KeyError(CANARY)


async def failed(fleet: FakeFleet) -> DelegationRecord:
    record = await fleet.delegate("leaks", "go")
    assert record.outcome is DelegationOutcome.CHILD_FAILED
    assert "_API_KEY redacted)" in record.message
    return record


def hits(folder: Path) -> list[str]:
    """Files in ``folder`` that hold the canary."""
    return sorted(holding(folder, CANARY.encode()))


def holding(folder: Path, words: bytes) -> set[str]:
    """Files in ``folder`` that hold ``words``."""
    return {file.name for file in folder.iterdir() if words in file.read_bytes()}


async def test_records_events_and_logs_of_a_child_that_tells_its_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    record = await failed(FakeFleet({"leaks": leaks}))
    assert CANARY not in repr(record) + json.dumps(record.as_dict()) + repr(HandOffEnded(1, record))
    assert CANARY not in caplog.text


async def test_journal_and_run_store_of_a_run_that_was_told_the_key(tmp_path: Path) -> None:
    record = await failed(FakeFleet({"leaks": leaks}))
    recorder = RunRecorder(RunStore(tmp_path / "runs.db"), command="run", fleet="f", scope="acme", question="why")
    recorder.begin()
    events: list[HandOffEvent] = [HandOffStarted(1, "leaks", 1, "go"), HandOffEnded(1, record)]
    for event in events:
        recorder.on_event(event)
    recorder.end("failed", record.message)
    async with RunJournal.open(tmp_path / "run.journal", job=JobIdentity("papers", "leaks", "5f", 1)) as journal:
        await journal.started(0, "digest", "call")
        await journal.ended(0, record.as_dict())
        assert hits(tmp_path) == []  # with the log beside it, as a kill would leave it
    assert hits(tmp_path) == []
    assert holding(tmp_path, b"_API_KEY redacted)") == {"runs.db", "run.journal"}  # so the words did arrive there


def test_a_fleet_s_forms_and_values_do_not_show_what_a_reference_gave(fleet_file: Path) -> None:
    config = load_fleet(fleet_file)
    assert config.parent_options["api_key"] == CANARY  # it arrives where it is wanted
    assert CANARY not in repr(config) + str(config)
    form = FleetForm.model_validate_json(
        json.dumps(
            {
                "version": 1,
                "name": "f",
                "parent": "m:f",
                "parent_options": {"k": CANARY},
                "children": [{"name": "c", "description": "d", "build": "m:f", "options": {"k": CANARY}}],
            }
        )
    )
    assert CANARY not in repr(form) + str(form)


@pytest.mark.parametrize(
    "wrong",
    [
        'max_depth: "${PROVIDER_API_KEY}"',
        'model: "${PROVIDER_API_KEY}"',
        'entry: "${PROVIDER_API_KEY}"',
        'limits: {idle_ttl_seconds: "${PROVIDER_API_KEY}"}',
        'run_limits: {"${PROVIDER_API_KEY}": 1}',
    ],
)
def test_a_reference_in_a_wrong_place_is_told_without_its_value(fleet_file: Path, wrong: str) -> None:
    fleet_file.write_text(FLEET + wrong + "\n")
    with pytest.raises(ConfigError) as caught:
        load_fleet(fleet_file)
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value.problems)
    assert CANARY not in said


def test_a_model_and_its_parts_do_not_show_their_key() -> None:
    model = OpenAIModel("gpt-x")
    assert CANARY not in repr(model) + repr(model._connection) + repr(vars(model._connection))


def test_a_submission_takes_no_secret_and_repeats_none() -> None:
    with pytest.raises(ParcelError) as caught:
        runtime_env_of(env_json=json.dumps({"PROVIDER_API_KEY": CANARY}), runtime_env_json=None, secrets=())
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    planned = runtime_env_of(env_json=None, runtime_env_json=None, secrets=("PROVIDER_API_KEY",))
    assert CANARY not in json.dumps(planned)
