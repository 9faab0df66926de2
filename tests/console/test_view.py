"""What a watcher is shown stays bounded, and is sent once."""

from __future__ import annotations

import json

from symfonic_ray.cluster.pool_stats import PoolStats, ScopeStats
from symfonic_ray.console import view as view_module
from symfonic_ray.console.view import View
from symfonic_ray.delegation import DelegationOutcome, DelegationRecord
from symfonic_ray.delegation.fleet import HandOffEnded, HandOffStarted


def stats(scopes: int = 1) -> PoolStats:
    one = ScopeStats(holds=1, hosts=1, in_flight=0, queued=0, closing=False, quarantined={"reader": "actor_died"})
    return PoolStats(
        live_scopes=scopes,
        live_hosts=scopes,
        warm_hosts=2,
        queued=0,
        in_flight=0,
        scopes={f"s{number}": one for number in range(scopes)},
        undelivered={"depth": 2},
    )


def ended(key: int | None, outcome: DelegationOutcome = DelegationOutcome.DELIVERED, reason: str = "") -> HandOffEnded:
    told = {"name": "reader", "depth": 1, "message": "words\n<b>", "run_id": f"r{key}"}
    record = DelegationRecord(outcome=outcome, reason=reason, **told)  # type: ignore[arg-type]
    return HandOffEnded(key, record)


def test_a_run_is_one_row_from_its_start_to_its_end_and_each_change_is_sent_once() -> None:
    view = View(clock=lambda: 100.0)
    view.tell("acme", HandOffStarted(1, "reader", 1, "task", "r1", "root"))
    first = view.since(0, stats(), "p")
    assert [(row["child"], row["outcome"], row["root_run_id"]) for row in first["runs"]] == [("reader", "", "root")]
    assert view.since(first["change"], stats(), "p")["runs"] == []
    view.tell("acme", ended(1, DelegationOutcome.CHILD_FAILED, "exception"))
    view.tell("acme", ended(None))
    second = view.since(first["change"], stats(), "p")
    runs = [(row["outcome"], row["run_id"]) for row in second["runs"]]
    assert runs == [("delivered", "rNone"), ("child_failed", "r1")]
    assert [(row["reason"], row["words"]) for row in second["failures"]] == [("exception", "words <b>")]
    assert second["undelivered"] == {"depth": 2}
    assert json.loads(json.dumps(second)) == second


def test_rows_are_bounded_and_those_that_run_are_kept_longest() -> None:
    view = View()
    view.tell("acme", HandOffStarted(0, "slow", 1))
    for number in range(1, view_module.KEPT_RUNS + 100):
        view.tell("acme", HandOffStarted(number, "reader", 1))
        view.tell("acme", ended(number, DelegationOutcome.CHILD_FAILED, "exception"))
    told = view.since(0, stats(2_000), "p")
    assert len(told["runs"]) == view_module.KEPT_RUNS
    assert "slow" in {row["child"] for row in told["runs"]}
    assert (view.dropped, len(told["failures"])) == (100, view_module.KEPT_FAILURES)
    assert (len(told["scopes"]), told["more_scopes"]) == (500, 1_500)
    assert len(json.dumps(told)) < 2_000_000


def test_a_name_or_task_of_any_length_is_cut() -> None:
    view = View()
    view.tell("acme", HandOffStarted(1, "x" * 100_000, 1, "y" * 100_000))
    (row,) = view.since(0, stats(), "p")["runs"]
    assert len(row["child"]) <= view_module.WORDS_BYTES
    assert len(row["task"]) <= view_module.WORDS_BYTES
