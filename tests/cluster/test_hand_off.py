"""A hand-off through real actors: what the child is told, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from symfonic_ray.cluster import Placement, PoolLimits, RunLimits
from symfonic_ray.delegation import DelegationOutcome, HandOffEnded, PrebuiltChild, current_fleet, serving
from symfonic_ray.kernel import RunIdentity, current_run_identity
from tests.cluster.children import Unsafe
from tests.cluster.conftest import PoolMaker, host_titles


async def test_a_child_answers_from_a_process_of_its_own(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("echo", "hello")
    scope, _, text = record.message.split("|")
    assert (record.outcome, record.depth, record.reason) == (DelegationOutcome.DELIVERED, 1, "")
    assert (scope, text) == ("acme", "hello")
    assert record.run_id == record.root_run_id
    assert record.parent_run_id is None
    assert (record.scope_key, record.generation, record.fresh) == ("acme", 1, False)
    assert record.seconds > 0


async def test_depth_lineage_and_scope_reach_the_child_and_leave_with_the_run(open_pool: PoolMaker) -> None:
    pool = await open_pool("teller", placements={"teller": Placement(concurrency=2)})
    async with pool.scope("acme") as fleet, pool.scope("zeta") as other:

        async def told(fleet: Any, depth: int, identity: RunIdentity) -> dict[str, Any]:
            async with fleet.delegation.run_scope(depth=depth, identity=identity):
                record = await fleet.delegation.tools.delegate("teller", "0.2")
            answer: dict[str, Any] = json.loads(record.message)
            return answer

        first, second, third = await asyncio.gather(
            told(fleet, 1, RunIdentity("r1", "r0", "rp")),
            told(fleet, 0, RunIdentity("r2", "r2")),
            told(other, 1, RunIdentity("r3", "r3")),
        )
        last = json.loads((await fleet.delegate("teller", "0")).message)
    for answer, depth, root, parent, scope in (
        (first, 2, "r0", "r1", "acme"),
        (second, 1, "r2", "r2", "acme"),
        (third, 2, "r3", "r3", "zeta"),
    ):
        ids = [answer["run_id"], root, parent]
        assert (answer["depth"], answer["root"], answer["parent"], answer["scope"]) == (depth, root, parent, scope)
        expected = {"depth": depth, "scope": scope, "identity": ids, "run": ids}
        assert answer["context"] == answer["later"] == expected
    assert last["context"]["depth"] == 1
    assert last["parent"] is None
    assert first["pid"] == second["pid"] != third["pid"]
    assert current_run_identity() is None


async def test_a_tree_of_three_levels_carries_depth_and_ids_through_real_actors(open_pool: PoolMaker) -> None:
    pool = await open_pool("caller", "echo", placements={"caller": Placement(delegates_to=("echo", "caller"))})
    seen: list[HandOffEnded] = []
    async with pool.scope("acme") as fleet:
        fleet.observe(lambda event: seen.append(event) if isinstance(event, HandOffEnded) else None)
        record = await fleet.delegate("caller", json.dumps([["echo", "leaf"]]))
    answer = json.loads(record.message)
    (inner,) = answer["records"]
    assert (record.depth, inner["depth"]) == (1, 2)
    assert inner["root_run_id"] == record.root_run_id == record.run_id
    assert inner["parent_run_id"] == record.run_id
    assert answer["told"]["run_id"] == record.run_id
    assert [(event.key is None, event.record.name) for event in seen] == [(True, "echo"), (False, "caller")]
    assert seen[0].record.parent_run_id == record.run_id


async def test_at_the_ceiling_a_child_hears_so_even_for_an_unknown_name(open_pool: PoolMaker) -> None:
    pool = await open_pool("caller", "echo", max_depth=1, placements={"caller": Placement(delegates_to=("echo",))})
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("caller", json.dumps([["echo", "x"], ["ghost", "x"]]))
    records = json.loads(record.message)["records"]
    assert [(r["outcome"], r["reason"], r["depth"]) for r in records] == [("refused_depth", "depth", 2)] * 2
    assert "1" in records[0]["message"]


async def test_a_ceiling_of_zero_refuses_and_builds_nothing(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", "build_raises", max_depth=0)
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("echo", "x")
        assert host_titles(pool.name) == {}
    assert (record.outcome, record.depth) == (DelegationOutcome.REFUSED_DEPTH, 1)


async def test_a_child_is_a_leaf_unless_its_placement_names_others(open_pool: PoolMaker) -> None:
    pool = await open_pool("caller", "echo")
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("caller", json.dumps([["echo", "x"]]))
    (inner,) = json.loads(record.message)["records"]
    assert (inner["outcome"], inner["reason"]) == ("unknown_child", "unknown_child")


async def test_a_child_may_call_itself_and_two_may_call_each_other_at_concurrency_one(open_pool: PoolMaker) -> None:
    pool = await open_pool(
        "caller", "echo", max_depth=6, placements={"caller": Placement(delegates_to=("caller", "echo"))}
    )
    task: list[Any] = [["echo", "deep"]]
    for _ in range(3):
        task = [["caller", json.dumps(task)]]
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("caller", json.dumps(task), timeout_seconds=20)
    assert record.outcome is DelegationOutcome.DELIVERED, record.message
    assert "deep" in record.message


TASKS: list[tuple[Any, str]] = [
    ({"description": "Summarise", "type": "str"}, '{"description": "Summarise", "type": "str"}'),
    (["가", None], '["가", null]'),
    (7, "7"),
    ("a\ud800\x00\x1b[31m\u202e b", "a\ud800\x00\x1b[31m\u202e b"),
]


async def test_a_task_of_any_shape_arrives_as_text(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo")
    async with pool.scope("acme") as fleet:
        arrived = [(await fleet.delegate("echo", task)).message.split("|", 2)[2] for task, _ in TASKS]
    assert arrived == [text for _, text in TASKS]


NAMES: list[Any] = ["wrtier", "", "../writer", "x" * 5000, None, ["echo"], {"description": "echo"}]


async def test_an_unknown_name_is_a_record_and_starts_nothing(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", placements={"echo": Placement(lazy=True)})
    async with pool.scope("acme") as fleet:
        records = [await fleet.delegate(name, "x") for name in NAMES]
        assert host_titles(pool.name) == {}
    assert [record.name for record in records] == NAMES
    assert {record.outcome for record in records} == {DelegationOutcome.UNKNOWN_CHILD}
    assert all("echo" in record.message and len(record.message) < 1000 for record in records)


ANSWERS = [
    ("empty", "no_final_response", ""),
    ("blank", "no_final_response", ""),
    ("none", "no_final_response", ""),
    ("no attribute", "no_final_response", ""),
    ("nothing", "no_final_response", ""),
    ("error", "no_final_response", "the model is out"),
    ("set", "serialization", "set"),
    ("zero", "", "0"),
    ("number", "", "7"),
    ("mapping", "", '{"ключ": [1, null]}'),
    ("text", "", "plain"),
    ("surrogate", "", "a\ud800b\x00\x1b[0m"),
    ("usage", "", "ok"),
    ("forged", "", "ok"),
]


async def test_an_answer_of_any_shape_is_read_in_the_host(open_pool: PoolMaker) -> None:
    pool = await open_pool("answers")
    async with pool.scope("acme") as fleet:
        records = {task: await fleet.delegate("answers", task) for task, _, _ in ANSWERS}
    for task, reason, message in ANSWERS:
        record = records[task]
        assert record.reason == reason, task
        assert message in record.message, task
        assert record.outcome is (DelegationOutcome.CHILD_FAILED if reason else DelegationOutcome.DELIVERED)
        assert record.run_id, task
        assert (record.fresh, record.scope_key, record.generation) == (False, "acme", 1), task
    assert records["usage"].usage == {"total_tokens": 12}
    assert records["text"].usage is None


async def test_an_answer_over_the_limit_is_cut_and_says_how_long_it_was(open_pool: PoolMaker) -> None:
    pool = await open_pool("answers", limits=PoolLimits(answer_bytes=10_000))
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("answers", "long")
    assert record.outcome is DelegationOutcome.DELIVERED
    assert len(record.message.encode()) <= 10_000
    assert "4000000 bytes" in record.message


async def test_a_task_over_the_limit_is_refused_before_it_is_sent(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", limits=PoolLimits(payload_bytes=2048))
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("echo", "é" * 1025)
        fits = await fleet.delegate("echo", "é" * 1024)
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "payload_too_large")
    assert "2050" in record.message
    assert fits.outcome is DelegationOutcome.DELIVERED


async def test_runs_of_one_instance_do_not_overlap_unless_declared(open_pool: PoolMaker) -> None:
    pool = await open_pool("Unsafe")
    async with pool.scope("acme") as fleet:
        records = await asyncio.gather(*(fleet.delegate("Unsafe", f"t{n}") for n in range(20)))
    assert [record.message for record in records] == [f"t{n} peak=1" for n in range(20)]
    safe = await open_pool("Unsafe", placements={"Unsafe": Placement(concurrency=20)})
    async with safe.scope("acme") as fleet:
        records = await asyncio.gather(*(fleet.delegate("Unsafe", f"t{n}") for n in range(20)))
    assert any(not record.message.endswith("peak=1") for record in records)


async def test_a_prebuilt_child_runs_in_the_caller_s_process_and_is_not_closed(open_pool: PoolMaker) -> None:
    class Mine:
        closed = False

        async def run(self, query: str, *, scope: Any = None, agent_depth: int = 0) -> str:
            return f"{scope} {agent_depth} {query} {current_fleet() is not None}"

        async def aclose(self) -> None:
            self.closed = True

    mine = Mine()
    pool = await open_pool("echo", PrebuiltChild(name="mine", description="is mine", agent=mine))
    async with pool.scope("acme") as fleet:
        with serving(fleet):
            record = await fleet.delegate("mine", "hi")
    report = await pool.close_scope("acme")
    assert record.message == "acme 1 hi True"
    assert (report.attempted, report.clean, mine.closed) == (1, True, False)


async def test_runs_of_a_prebuilt_instance_do_not_overlap_unless_declared(open_pool: PoolMaker) -> None:
    def handed(name: str) -> PrebuiltChild:
        return PrebuiltChild(name=name, description="keeps its task", agent=Unsafe("shared"))

    pool = await open_pool(handed("one"), handed("many"), placements={"many": Placement(concurrency=20)})
    async with pool.scope("acme") as fleet, pool.scope("zeta") as other:
        tasks = [(f, n) for n in range(10) for f in (fleet, other)]
        ones = await asyncio.gather(*(f.delegate("one", f"t{n}") for f, n in tasks))
        many = await asyncio.gather(*(f.delegate("many", f"t{n}") for f, n in tasks))
    assert [record.message for record in ones] == [f"t{n} peak=1" for _, n in tasks]
    assert any(not record.message.endswith("peak=1") for record in many)


async def test_a_prebuilt_child_is_held_to_the_caller_s_deadline(open_pool: PoolMaker) -> None:
    class Slow:
        async def run(self, query: str) -> str:
            await asyncio.sleep(30)
            return query

    pool = await open_pool(PrebuiltChild(name="slow", description="is slow", agent=Slow()))
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("slow", "x", timeout_seconds=0.2)
    assert (record.reason, record.outcome) == ("timeout", DelegationOutcome.CHILD_FAILED)


async def test_a_child_gets_its_parent_s_remaining_time_less_a_reserve(open_pool: PoolMaker) -> None:
    pool = await open_pool(
        "caller",
        "sleeper",
        placements={"caller": Placement(delegates_to=("sleeper",))},
        run_limits=RunLimits(reserve_fraction=0.1, reserve_seconds=1.0),
    )
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("caller", json.dumps([["sleeper", "30"]]), timeout_seconds=3)
    assert record.outcome is DelegationOutcome.DELIVERED, record.message
    (inner,) = json.loads(record.message)["records"]
    assert inner["reason"] == "timeout"
    assert inner["seconds"] < 2.6


async def test_many_hand_offs_pass_through_a_bounded_window(open_pool: PoolMaker) -> None:
    pool = await open_pool("echo", placements={"echo": Placement(concurrency=8)})
    asked: list[int] = []

    def tasks() -> Any:
        for number in range(50):
            asked.append(number)
            yield "echo" if number % 10 else "ghost", str(number)

    async with pool.scope("acme") as fleet:
        whole = fleet.fan_out(tasks(), in_flight=5, ordered=True)
        first = await anext(whole)
        assert len(asked) <= 6
        records = [first] + [record async for record in whole]
    assert [record.message.rpartition("|")[2] for record in records if record.outcome.delivered] == [
        str(n) for n in range(50) if n % 10
    ]
    report = whole.report
    assert (report.total, report.by_outcome) == (50, {"delivered": 45, "unknown_child": 5})
    assert report.by_reason == {"unknown_child": 5}
    assert report.seconds["p50"] <= report.seconds["p99"]


async def test_leaving_a_fan_out_early_stops_what_runs(open_pool: PoolMaker, tmp_path: Any) -> None:
    pool = await open_pool("sleeper", placements={"sleeper": Placement(concurrency=8)})
    files = [tmp_path / f"f{n}" for n in range(4)]
    async with pool.scope("acme") as fleet:
        async with fleet.fan_out([("sleeper", "0.05"), *(("sleeper", f"write {f} 10") for f in files)]) as whole:
            await anext(whole)
            await asyncio.sleep(0.3)
        sizes = [f.stat().st_size for f in files if f.exists()]
        await asyncio.sleep(0.5)
        assert sizes == [f.stat().st_size for f in files if f.exists()]
        assert sizes


async def test_a_parent_whose_child_runs_out_of_time_still_answers_in_its_reserve(open_pool: PoolMaker) -> None:
    placement = Placement(delegates_to=("stem", "sleeper"), concurrency=4)
    pool = await open_pool("stem", "sleeper", placements={"stem": placement, "sleeper": Placement(concurrency=4)})
    async with pool.scope("acme") as fleet:
        inner = json.dumps([["sleeper", "60"], ["sleeper", "0"]])
        began = time.monotonic()
        record = await fleet.delegate("stem", json.dumps([["stem", inner], ["sleeper", "0"]]), timeout_seconds=6.0)
        seconds = time.monotonic() - began
        assert record.outcome is DelegationOutcome.DELIVERED, record
        assert json.loads(record.message) == ["", ""]  # the one in the middle answered too, with what was there
        assert seconds < 6.0
