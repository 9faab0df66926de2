"""Tool tasks that go wrong: whatever happens to a worker, each call has one outcome and the others have theirs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cluster import RayToolDispatcher, WithheldValue
from symfonic_ray.execution import ExecutionReport, RetrySchedule, ToolCall, ToolExecutor, WorkerDiedError, tool
from tests.cluster import tool_bodies
from tests.cluster.conftest import alive, until
from tests.cluster.tool_bodies import lines
from tests.execution.doubles import call, echo

TWICE = RetrySchedule(max_attempts=2, retry_on=(WorkerDiedError,))


@pytest.fixture
def dispatcher(local_ray: None) -> RayToolDispatcher:
    return RayToolDispatcher()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


async def run(dispatcher: RayToolDispatcher, calls: list[ToolCall], *tools: Any, **phases: Any) -> ExecutionReport:
    return await ToolExecutor(dispatcher=dispatcher, **phases).execute(calls, [echo, *tools])


async def test_d20_a_tool_that_ends_its_process_is_one_error_outcome_and_ran_once(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    calls = [call(value=1), call("die", path=str(notes)), call(value=2)]
    report = await run(dispatcher, calls, tool_bodies.die)
    first, bad, last = report.outcomes
    assert (bad.is_error, bad.reason, bad.attempts) == (True, "worker_died", 1)
    assert "not known" in bad.content
    assert (first.value, last.value) == (1, 2)
    assert lines(notes) == ["died"]


async def test_d20_a_dead_worker_is_tried_again_where_the_schedule_names_it(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    report = await run(dispatcher, [call("die", path=str(notes))], tool_bodies.die, retries=TWICE)
    assert (report.outcomes[0].reason, report.outcomes[0].attempts) == ("worker_died", 2)
    assert lines(notes) == ["died", "died"]


async def test_a_call_that_comes_good_in_a_second_process_counts_both(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    report = await run(dispatcher, [call("die_once", path=str(notes))], tool_bodies.die_once, retries=TWICE)
    assert (report.outcomes[0].value, report.outcomes[0].attempts) == ("came good", 2)


@pytest.mark.parametrize(("body", "times"), [("die", 1), ("die_idempotent", 2)])
async def test_a_dead_worker_is_tried_again_without_being_named_only_for_an_idempotent_tool(
    dispatcher: RayToolDispatcher, notes: Path, body: str, times: int
) -> None:
    schedule = RetrySchedule(max_attempts=2)
    report = await run(dispatcher, [call(body, path=str(notes))], getattr(tool_bodies, body), retries=schedule)
    assert (report.outcomes[0].reason, report.outcomes[0].attempts) == ("worker_died", times)
    assert len(lines(notes)) == times


async def test_calls_that_share_a_dead_worker_keep_what_was_answered_and_lose_what_was_not(
    local_ray: None, notes: Path
) -> None:
    dispatcher = RayToolDispatcher(in_flight=4)
    calls = [
        call("echo_shared", value="quick"),
        call("die_shared", path=str(notes), after=1.0),
        call("echo_shared", value="slow", wait=30),
        call("echo_shared", value="quick too"),
        *[call("echo_shared", value=number, wait=0.01) for number in range(4)],
    ]
    report = await run(dispatcher, calls, tool_bodies.echo_shared, tool_bodies.die_shared)
    assert [outcome.reason for outcome in report.outcomes] == ["", "worker_died", "worker_died", "", "", "", "", ""]
    assert [outcome.value for outcome in report.outcomes[4:]] == [0, 1, 2, 3]
    assert lines(notes) == ["died"]


async def test_no_call_that_was_started_in_a_dead_process_is_started_in_another(local_ray: None, notes: Path) -> None:
    dispatcher = RayToolDispatcher(in_flight=3)
    calls = [call("note_shared", path=str(notes), value=number, dies=number % 10 == 7) for number in range(40)]
    report = await run(dispatcher, calls, tool_bodies.note_shared)
    assert sorted(map(int, lines(notes))) == list(range(40))
    lost = {place for place, outcome in enumerate(report.outcomes) if outcome.reason == "worker_died"}
    assert lost >= {7, 17, 27, 37}
    assert len(lost) <= 12  # each of four dead processes ran three
    assert [outcome.value for place, outcome in enumerate(report.outcomes) if place not in lost] == [
        place for place in range(40) if place not in lost
    ]


async def test_calls_of_a_chunk_go_on_alone_when_one_of_them_ends_its_process(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    calls = [call("in_chunk", path=str(notes), value=number, dies=number == 2) for number in range(8)]
    report = await run(dispatcher, calls, tool_bodies.in_chunk)
    assert [outcome.reason for outcome in report.outcomes] == ["", "", "worker_died", "", "", "", "", ""]
    assert [outcome.value[0] for outcome in report.outcomes if outcome.value] == [0, 1, 3, 4, 5, 6, 7]
    assert sum(line.startswith("2 ") for line in lines(notes)) == 2
    assert 2 in {record.slot for record in report.trace if record.action == "resent"}


async def test_arguments_that_cannot_be_pickled_are_one_error_outcome_and_nothing_runs(
    dispatcher: RayToolDispatcher,
) -> None:
    report = await run(dispatcher, [call(value=threading.Lock()), call(value=1)])
    bad, good = report.outcomes
    assert (bad.reason, bad.attempts, good.value) == ("serialization", 0, 1)
    assert "lock" in bad.content


async def test_a_tool_that_the_worker_cannot_load_is_one_error_outcome(
    dispatcher: RayToolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("only_in_the_driver")
    exec("def unknown_there(): return 1", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    report = await run(dispatcher, [call("unknown_there"), call(value=1)], vars(module)["unknown_there"])
    bad, good = report.outcomes
    assert (bad.reason, bad.attempts, good.value) == ("serialization", 0, 1)
    assert "only_in_the_driver" in bad.content


async def test_a_value_that_cannot_be_pickled_leaves_its_text_and_a_stand_in(dispatcher: RayToolDispatcher) -> None:
    report = await run(dispatcher, [call("unpicklable_result")], tool_bodies.unpicklable_result)
    (outcome,) = report.outcomes
    assert (outcome.is_error, outcome.attempts) == (False, 1)
    assert "lock" in outcome.content
    assert isinstance(outcome.value, WithheldValue)
    assert (outcome.value.kind, outcome.value.size_bytes) == ("list", None)


async def test_a_tool_that_asks_for_more_than_any_machine_has_is_refused_and_nothing_runs(
    dispatcher: RayToolDispatcher,
) -> None:
    @tool(num_cpus=64)
    def vast() -> None:
        """Ask for too much."""

    @tool(resources={"telescope": 1})
    async def rare() -> None:
        """Ask for what is not there."""

    report = await run(dispatcher, [call("vast"), call("rare"), call(value=1)], vast, rare)
    assert [(outcome.reason, outcome.attempts) for outcome in report.outcomes] == [
        ("infeasible", 0),
        ("infeasible", 0),
        ("", 1),
    ]
    assert "64 cores" in report.outcomes[0].content
    assert "telescope" in report.outcomes[1].content


@pytest.mark.parametrize("body", ["stuck", "stuck_shared"])
async def test_a_call_that_overruns_its_time_is_answered_and_its_process_does_not_outlive_the_batch(
    dispatcher: RayToolDispatcher, notes: Path, body: str
) -> None:
    calls = [call(body, path=str(notes)), call(value=1)]
    report = await asyncio.wait_for(run(dispatcher, calls, getattr(tool_bodies, body)), 30)
    late, good = report.outcomes
    assert (late.reason, late.attempts, good.value) == ("timeout", 1, 1)
    assert "0.3 seconds" in late.content
    assert await until(lambda: not alive(int(lines(notes)[0])), 5)


async def test_the_others_of_a_shared_process_are_answered_before_an_overrun_ends_it(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    stays = tool(timeout_seconds=0.2, isolation="shared")(tool_bodies.block)
    calls = [call("block", path=str(notes)), call("echo_shared", value=2, wait=1.0)]
    report = await run(dispatcher, calls, stays, tool_bodies.echo_shared)
    assert [(outcome.reason, outcome.value) for outcome in report.outcomes] == [("timeout", None), ("", 2)]
    assert await until(lambda: not alive(int(lines(notes)[0])), 5)


@pytest.mark.parametrize("settings", [{"in_flight": 0}, {"text_bytes": 0}, {"value_bytes": 0}, {"num_cpus": -1}])
def test_a_setting_that_could_run_nothing_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        RayToolDispatcher(**settings)


def test_no_ray_is_started_by_itself() -> None:
    script = """
import asyncio, ray
from symfonic_ray.cluster import RayToolDispatcher
from symfonic_ray.execution import ToolCall, ToolExecutor
report = asyncio.run(ToolExecutor(dispatcher=RayToolDispatcher()).execute([ToolCall("a", "len", {})], [len]))
print(report.outcomes[0].reason, report.trace[0].detail, ray.is_initialized())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("dispatch_failed RuntimeError: tool tasks need a Ray")
    assert done.stdout.endswith("False\n")
