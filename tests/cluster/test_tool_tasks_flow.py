"""How a batch flows through tool tasks: order, bounds, progress, cancellation, and what never leaves this process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from symfonic_ray.cluster import RayToolDispatcher, WithheldValue
from symfonic_ray.delegation import DelegationToolSpec
from symfonic_ray.execution import (
    CallBudget,
    ExecutionReport,
    PreconditionSet,
    PreconditionVerdict,
    ToolCall,
    ToolDescriptor,
    ToolExecutor,
    ToolProgress,
    tool,
)
from tests.cluster import tool_bodies
from tests.cluster.conftest import alive, until
from tests.cluster.tool_bodies import lines
from tests.execution.doubles import RecordingSink, RuleCheck, call, echo


@pytest.fixture
def dispatcher(local_ray: None) -> RayToolDispatcher:
    return RayToolDispatcher()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


async def run(dispatcher: RayToolDispatcher, calls: list[ToolCall], *tools: Any, **phases: Any) -> ExecutionReport:
    return await ToolExecutor(dispatcher=dispatcher, **phases).execute(calls, [echo, *tools])


def resident_bytes() -> int:
    """What this process holds in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def values(report: ExecutionReport) -> list[Any]:
    assert [outcome.content for outcome in report.outcomes if outcome.is_error] == []
    return [outcome.value for outcome in report.outcomes]


async def test_d06_echoes_are_in_call_order_in_the_time_of_the_slowest_and_a_blocked_one_keeps_its_place(
    dispatcher: RayToolDispatcher,
) -> None:
    def rule(asked: ToolCall) -> PreconditionVerdict | None:
        return PreconditionVerdict.block("not now", "quota") if asked.args["value"] == "blocked" else None

    waits: list[tuple[Any, float]] = [(0, 1.5), (1, 1.2), ("blocked", 0), (2, 0.9), (3, 0.6), (4, 0.3)]
    calls = [call("echo_shared", value=value, wait=wait) for value, wait in waits]
    await run(dispatcher, calls[:1], tool_bodies.echo_shared)  # a warm worker
    began = time.monotonic()
    report = await run(dispatcher, calls, tool_bodies.echo_shared, preconditions=PreconditionSet([RuleCheck(rule)]))
    assert time.monotonic() - began < 3.5  # one after another they take 4.5
    assert [outcome.content for outcome in report.outcomes] == ["0", "1", "not now", "2", "3", "4"]


async def test_d12_a_budget_lets_the_first_calls_of_blank_ids_run_and_blocks_the_others(
    dispatcher: RayToolDispatcher,
) -> None:
    calls = [call(id=name, value=value) for name, value in [("", "a"), ("", "b"), ("x", "c"), ("x", "d")]]
    budget = CallBudget({"echo": ToolDescriptor("echo", None, 2)})
    report = await run(dispatcher, calls, preconditions=PreconditionSet([budget]))
    assert [outcome.reason for outcome in report.outcomes] == ["", "", "blocked", "blocked"]
    assert [outcome.content for outcome in report.outcomes][:2] == ["a", "b"]


@pytest.mark.parametrize("body", ["span_shared", "span"])
async def test_d28_no_more_than_sixteen_of_a_thousand_calls_run_at_once(
    dispatcher: RayToolDispatcher, notes: Path, body: str
) -> None:
    calls = [call(body, id=str(number), path=str(notes)) for number in range(1000)]
    spans = values(await run(dispatcher, calls, getattr(tool_bodies, body)))
    assert len(spans) == 1000
    assert 1 < peak(spans) <= 16


def peak(spans: list[tuple[float, float]]) -> int:
    """How many spans overlap at most."""
    edges = sorted([(began, 1) for began, _ in spans] + [(ended, -1) for _, ended in spans])
    return int(np.cumsum([step for _, step in edges]).max())


@pytest.mark.parametrize("body", ["span_shared", "span"])
async def test_d28_after_a_cancel_nothing_starts_and_nothing_is_left_running(
    dispatcher: RayToolDispatcher, notes: Path, body: str
) -> None:
    calls = [call(body, id=str(number), path=str(notes)) for number in range(1000)]
    task = asyncio.create_task(run(dispatcher, calls, getattr(tool_bodies, body)))
    assert await until(lambda: bool(lines(notes)), 60)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    seen = lines(notes)
    await asyncio.sleep(0.5)
    assert lines(notes) == seen
    assert seen.count("started") < 1000


async def test_d28_ten_thousand_calls_are_answered_in_order_in_flat_memory(dispatcher: RayToolDispatcher) -> None:
    calls = [call("nothing_shared", id=str(number), value=number) for number in range(10_000)]
    assert values(await run(dispatcher, calls, tool_bodies.nothing_shared)) == list(range(10_000))
    before = resident_bytes()
    assert values(await run(dispatcher, calls, tool_bodies.nothing_shared)) == list(range(10_000))
    assert resident_bytes() - before < 32 << 20


async def test_a_cancelled_run_ends_a_blocking_tool_with_its_process(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    task = asyncio.create_task(run(dispatcher, [call("block", path=str(notes))], tool_bodies.block))
    assert await until(lambda: bool(lines(notes)), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until(lambda: not alive(int(lines(notes)[0])), 5)


async def test_a_cancelled_run_lets_an_async_tool_clean_up(dispatcher: RayToolDispatcher, notes: Path) -> None:
    task = asyncio.create_task(run(dispatcher, [call("tidy", path=str(notes))], tool_bodies.tidy))
    assert await until(lambda: bool(lines(notes)), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lines(notes) == ["started", "cleaned up"]


async def test_progress_arrives_while_the_tool_runs(dispatcher: RayToolDispatcher, notes: Path) -> None:
    class Answering:
        def emit(self, event: ToolProgress) -> None:
            tool_bodies.note(str(notes), str(event.payload))

    calls = [call("answered_progress", path=str(notes))]
    report = await run(dispatcher, calls, tool_bodies.answered_progress, progress=Answering())
    assert values(report) == ["somebody answered"]


@pytest.mark.parametrize("body", ["counting", "counting_blocking"])
async def test_a_tool_waits_for_a_sink_that_falls_behind(dispatcher: RayToolDispatcher, notes: Path, body: str) -> None:
    ahead: list[int] = []

    class Slow:
        async def emit(self, event: ToolProgress) -> None:
            await asyncio.sleep(0.004)
            ahead.append(len(lines(notes)) - event.sequence)

    report = await run(
        dispatcher, [call(body, path=str(notes), count=1500)], getattr(tool_bodies, body), progress=Slow()
    )
    assert values(report) == [1499]
    assert len(ahead) == 1499
    assert max(ahead) < 700  # four groups of at most 64 on the way, and as many taken


async def test_tools_run_in_other_processes_and_those_of_one_share_in_one(dispatcher: RayToolDispatcher) -> None:
    calls = [call("process"), *[call("process_shared")] * 3]
    alone, *shared = values(await run(dispatcher, calls, tool_bodies.process, tool_bodies.process_shared))
    assert os.getpid() not in (alone, *shared)
    assert len(set(shared)) == 1


async def test_many_calls_of_an_idempotent_blocking_tool_go_in_chunks_and_a_few_do_not(
    dispatcher: RayToolDispatcher, notes: Path
) -> None:
    calls = [call("in_chunk", path=str(notes), value=number) for number in range(32)]
    found = values(await run(dispatcher, calls, tool_bodies.in_chunk))
    assert [value for value, _ in found] == list(range(32))
    assert len({process for _, process in found[:16]}) == len({process for _, process in found[16:]}) == 1


async def test_a_tool_holds_the_resources_that_it_names(dispatcher: RayToolDispatcher) -> None:
    @tool(num_cpus=2, memory=1 << 20)
    async def held() -> Any:
        """What this task holds."""
        context: Any = ray.get_runtime_context()
        return context.get_assigned_resources()

    (has,) = values(await run(dispatcher, [call("held")], held))
    assert (has["CPU"], has["memory"]) == (2.0, 1 << 20)


def closing_over_a_lock() -> Callable[[], int]:
    lock = threading.Lock()

    def locked() -> int:
        with lock:
            return os.getpid()

    return locked


@tool(placement="process")
async def bound() -> int:
    """The process, by declaration this one."""
    return os.getpid()


async def hand_off() -> str:
    return str(os.getpid())


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (bound, "belongs to this process"),
        (closing_over_a_lock(), "variable 'lock' cannot be sent"),
        (DelegationToolSpec(name="hand_off", description="hands over", coroutine=hand_off), "a hand-off needs the run"),
    ],
    ids=["placement", "unpicklable", "delegation"],
)
async def test_a_tool_bound_to_this_process_runs_in_it_and_the_trace_says_so(
    dispatcher: RayToolDispatcher, body: Any, why: str
) -> None:
    report = await ToolExecutor(dispatcher=dispatcher).execute([call("body", id="x")], {"body": body})
    assert int(report.outcomes[0].content) == os.getpid()
    (record,) = [record for record in report.trace if record.action == "in_process"]
    assert (record.phase, record.call_id, record.slot) == ("dispatch", "x", 0)
    assert why in record.detail


async def test_calls_in_this_process_count_against_the_same_bound(local_ray: None) -> None:
    inside = most = 0

    @tool(placement="process")
    async def watched() -> None:
        """Count how many are inside."""
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.005)
        inside -= 1

    report = await run(RayToolDispatcher(in_flight=3), [call("watched")] * 20, watched)
    assert (len(values(report)), most) == (20, 3)


async def test_d25_references_in_containers_arrive_as_what_they_refer_to(dispatcher: RayToolDispatcher) -> None:
    two, array = ray.put(2.0), ray.put(np.ones(5))
    calls = [
        call("total", items=two),
        call("total", items={"a": [1.0, two], "b": (array, [array, 1.0])}),
        call("here", items=[two, {"a": array}]),
    ]
    here = tool(placement="process", name="here")(tool_bodies.total)
    assert values(await run(dispatcher, calls, tool_bodies.total, here)) == [2.0, 14.0, 7.0]


async def test_d25_a_reference_that_hides_in_an_object_is_refused_plainly(dispatcher: RayToolDispatcher) -> None:
    report = await run(dispatcher, [call(value=tool_bodies.Holder(ray.put(1))), call(value=2)])
    bad, good = report.outcomes
    assert (bad.reason, bad.attempts, good.value) == ("serialization", 0, 2)
    assert "object reference" in bad.content


async def test_a_reference_to_what_could_not_be_made_is_refused_in_its_maker_s_words(
    dispatcher: RayToolDispatcher,
) -> None:
    @ray.remote(max_retries=0)
    def fails() -> None:
        raise ValueError("no such star")

    report = await run(dispatcher, [call(value=[fails.remote()]), call(value=2)])
    bad, good = report.outcomes
    assert (bad.reason, bad.attempts, good.value) == ("bad_arguments", 0, 2)
    assert "ValueError: no such star" in bad.content
    assert "Traceback" not in bad.content


async def test_d25_an_array_crosses_and_comes_back_writable(dispatcher: RayToolDispatcher) -> None:
    array = np.zeros((1000, 10))
    (value,) = values(await run(dispatcher, [call(value=array)]))
    value[0, 0] = 1
    assert (array.sum(), value.sum()) == (0.0, 1.0)


@pytest.mark.parametrize(("kind", "count"), [("bytes", 80 << 20), ("text", 20 << 20)])
async def test_d21_an_outsize_result_is_cut_with_a_mark_and_its_value_is_stood_for(
    dispatcher: RayToolDispatcher, kind: str, count: int
) -> None:
    report = await run(dispatcher, [call("large", kind=kind, count=count), call(value=1)], tool_bodies.large)
    big, small = report.outcomes
    assert (big.is_error, small.value) == (False, 1)
    assert len(big.content.encode()) < (1 << 20) + 200
    assert f"the whole result has {count} bytes, {1 << 20} are allowed" in big.content[-120:]
    assert isinstance(big.value, WithheldValue)
    assert big.value.kind == {"bytes": "bytes", "text": "str"}[kind]
    assert big.value.size_bytes is not None
    assert big.value.size_bytes >= count


async def test_d21_ten_outsize_results_leave_no_memory_behind(dispatcher: RayToolDispatcher) -> None:
    calls = [call("large", kind="text", count=20 << 20)] * 10
    await run(dispatcher, calls[:2], tool_bodies.large)
    before = resident_bytes()
    report = await run(dispatcher, calls, tool_bodies.large)
    assert [outcome.is_error for outcome in report.outcomes] == [False] * 10
    del report
    assert resident_bytes() - before < 64 << 20


async def test_the_text_of_a_tool_in_this_process_is_cut_alike(local_ray: None) -> None:
    here = tool(placement="process")(tool_bodies.large)
    report = await run(RayToolDispatcher(text_bytes=10), [call("large", kind="bytes", count=100)], here)
    assert report.outcomes[0].content.startswith("x" * 10 + "\n... (cut: the whole result has 100 bytes")
    assert report.outcomes[0].value == b"x" * 100


@pytest.mark.parametrize("padding", ["", "x" * 100_000], ids=["small", "large"])
async def test_a_tool_is_pickled_once_for_all_its_calls(dispatcher: RayToolDispatcher, padding: str) -> None:
    tool_bodies.PICKLED.clear()
    recorder = tool_bodies.Recorder(padding)
    for _ in range(2):
        assert values(await run(dispatcher, [call("recorder")] * 8, recorder)) == [len(padding)] * 8
    assert len(tool_bodies.PICKLED) == 1


async def test_a_tool_s_state_is_not_shared_between_dispatchers(local_ray: None) -> None:

    counts = []
    for _ in range(3):
        report = await run(RayToolDispatcher(in_flight=1), [call("counter")], tool_bodies.Counter())
        counts.extend(values(report))
    assert counts == [1, 1, 1]


async def test_progress_of_a_tool_in_this_process_reaches_the_sink(dispatcher: RayToolDispatcher, notes: Path) -> None:
    here = tool(placement="process")(tool_bodies.counting)
    sink = RecordingSink()
    report = await run(dispatcher, [call("counting", path=str(notes), count=3)], here, progress=sink)
    assert values(report) == [2]
    assert sink.payloads() == [(0, 0), (1, 1)]
