"""The store of runs: what it keeps, what it refuses, and who may write at once."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from symfonic_ray.delegation import DelegationOutcome, DelegationRecord, HandOffEnded, HandOffStarted
from symfonic_ray.journal import RunRecorder, RunStore, RunStoreError, run_store

WRITER = """
import sys
from pathlib import Path
from symfonic_ray.journal import RunRecorder, RunStore
for number in range(20):
    recorder = RunRecorder(RunStore(Path(sys.argv[1])), command="run", fleet="f", scope="s", question=str(number),
                           warn=sys.exit)
    recorder.begin()
    recorder.end("delivered")
"""


def recorder(store: RunStore, question: str = "why") -> RunRecorder:
    return RunRecorder(store, command="run", fleet="readers", scope="acme", question=question)


def record(run_id: str = "b", parent: str | None = "a", *, message: str = "yes") -> DelegationRecord:
    return DelegationRecord(
        name="reader",
        outcome=DelegationOutcome.DELIVERED,
        depth=1,
        message=message,
        run_id=run_id,
        root_run_id="a",
        parent_run_id=parent,
        usage={"tokens": 3},
        queue_position=2,
    )


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "state" / "runs.db")


def test_a_hand_off_comes_back_with_its_lineage(store: RunStore) -> None:
    made = recorder(store)
    made.begin()
    made.on_event(HandOffStarted(1, "reader", 1, "read a.txt"))
    made.on_event(HandOffEnded(1, record()))
    made.end("delivered")
    (row,) = store.hand_offs(made.run_id)
    assert (row.name, row.task, row.run_id, row.parent_run_id) == ("reader", "read a.txt", "b", "a")
    assert (row.usage, row.queue_position, row.fresh) == ('{"tokens": 3}', 2, False)


def test_a_long_message_is_kept_short(store: RunStore) -> None:
    made = recorder(store, "q" * 10_000)
    made.begin()
    made.on_event(HandOffEnded(None, record(message="m" * 100_000)))
    made.end("delivered")
    assert len(store.hand_offs(made.run_id)[0].message) <= 1024
    assert len(store.runs()[0].question) <= 200


def test_hand_offs_beyond_the_bound_are_counted(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symfonic_ray.journal.run_recorder.KEPT_HAND_OFFS", 2)
    made = recorder(store)
    made.begin()
    for _ in range(5):
        made.on_event(HandOffEnded(None, record()))
    made.end("delivered")
    assert (store.runs()[0].hand_offs, store.runs()[0].left_out, len(store.hand_offs(made.run_id))) == (5, 3, 2)


def test_the_oldest_runs_are_dropped_with_their_hand_offs(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "KEPT_RUNS", 3)
    made = [recorder(store, str(number)) for number in range(5)]
    for one in made:
        one.begin()
        one.on_event(HandOffEnded(None, record()))
        one.end("delivered")
    assert [run.question for run in store.runs()] == ["4", "3", "2"]
    assert store.hand_offs(made[0].run_id) == ()


def test_the_store_is_for_its_owner_alone(store: RunStore) -> None:
    recorder(store).begin()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_a_run_whose_process_is_gone_is_lost(store: RunStore) -> None:
    made = recorder(store)
    made.begin()
    assert store.runs()[0].outcome == "running"
    store.end(replace(store.runs()[0], pid_started="1"), ())
    assert store.runs()[0].outcome == "lost"


def test_several_commands_write_at_once(store: RunStore) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(store.path)]) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert [run.outcome for run in store.runs()] == ["delivered"] * 60


@pytest.mark.parametrize(
    ("statement", "words"),
    [("PRAGMA user_version = 2", "format 2"), ("PRAGMA application_id = 7", "another program")],
    ids=["newer", "foreign"],
)
def test_a_store_that_is_not_ours_to_read_is_refused_and_left_alone(
    store: RunStore, statement: str, words: str
) -> None:
    recorder(store).begin()
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    before = store.path.read_bytes()
    with pytest.raises(RunStoreError, match=words):
        store.runs()
    assert store.path.read_bytes() == before


def test_a_damaged_store_warns_once_and_raises_nothing(store: RunStore) -> None:
    recorder(store).begin()
    store.path.write_bytes(b"\0" * 50 + store.path.read_bytes()[50:])
    said: list[str] = []
    made = RunRecorder(store, command="run", fleet="f", scope="s", question="q", warn=said.append)
    made.begin()
    made.end("delivered")
    assert len(said) == 1
    assert str(store.path) in said[0]


def test_a_link_in_the_place_of_the_store_is_refused(store: RunStore, tmp_path: Path) -> None:
    store.path.parent.mkdir()
    store.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunStoreError):
        store.begin(recorder(store)._run)
    assert not (tmp_path / "elsewhere").exists()


def test_failures_are_kept_where_there_is_no_room_for_all(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symfonic_ray.journal.run_recorder.KEPT_HAND_OFFS", 3)
    made = recorder(store)
    made.begin()
    for number in range(12):
        outcome = DelegationOutcome.CHILD_FAILED if number % 2 else DelegationOutcome.DELIVERED
        made.on_event(HandOffEnded(None, replace(record(f"run{number}"), outcome=outcome, reason="exception")))
    made.end("failed")
    assert {row.run_id for row in store.hand_offs(made.run_id)} == {"run1", "run3", "run5"}
    assert (store.runs()[0].hand_offs, store.runs()[0].failed, store.runs()[0].left_out) == (12, 6, 9)
