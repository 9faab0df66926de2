"""What one hand-off comes to, and in which order it is decided."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    ChildLockdownError,
    DelegationContext,
    DelegationOutcome,
    DelegationRoster,
    DelegationTools,
    DepthPolicy,
    HandOffEnded,
    HandOffEvent,
    HandOffFacts,
    HandOffFault,
    HandOffReply,
    HandOffStarted,
    RosterEntry,
    UnknownChildError,
)
from symfonic_ray.kernel import RunIdentity, run_identity
from symfonic_ray.testing import FailingRunner, RecordingRunner
from tests.delegation.palettes import NamedTool, ToolsAgent


def tools_over(*, max_depth: int = 3, record: bool = True, observer: Any = None, **runners: Any) -> DelegationTools:
    entries = (RosterEntry(name=name, description=f"does {name}", runner=r) for name, r in runners.items())
    return DelegationTools(
        roster=DelegationRoster(entries), depth=DepthPolicy(max_depth), record=record, observer=observer
    )


CONTEXT = DelegationContext()


def test_two_tools_are_offered_with_their_parameters() -> None:
    specs = tools_over(a=RecordingRunner()).specs()
    assert [(spec.name, spec.parameters) for spec in specs] == [("run_agent", ("name", "task")), ("list_agents", ())]


def test_run_agent_tells_the_model_who_there_is_and_what_they_do_not_see() -> None:
    description = tools_over(reader=RecordingRunner()).specs()[0].description
    assert "  - reader: does reader" in description
    assert "does not see this conversation" in description


async def test_the_tools_answer_in_text() -> None:
    tools = tools_over(a=RecordingRunner("forty-two"))
    run_agent, list_agents = tools.specs()
    assert await run_agent.coroutine(name="a", task="what") == "forty-two"
    assert await list_agents.coroutine() == "  - a: does a"
    assert await tools.run_agent("a", "what") == "forty-two"
    assert await tools.list_agents() == "  - a: does a"


async def test_a_delivered_hand_off_is_recorded_whole() -> None:
    response = {
        "final_response": " 42\n",
        "run_id": "r2",
        "root_run_id": "r0",
        "parent_run_id": "r1",
        "usage": {"n": 3},
    }
    record = await tools_over(a=RecordingRunner(response)).delegate("a", "what")
    assert (record.name, record.outcome, record.depth, record.message) == ("a", DelegationOutcome.DELIVERED, 1, "42")
    assert (record.run_id, record.root_run_id, record.parent_run_id) == ("r2", "r0", "r1")
    assert (record.reason, record.usage) == ("", {"n": 3})
    assert record.seconds > 0


async def test_a_child_is_told_its_depth_scope_and_lineage_but_no_run_id() -> None:
    runner = RecordingRunner()
    context = DelegationContext(resolve_scope=lambda: "acme")
    tools = DelegationTools(
        roster=DelegationRoster([RosterEntry(name="a", description="d", runner=runner)]),
        depth=DepthPolicy(3),
        context=context,
    )
    async with context.run_scope(depth=1, identity=RunIdentity("r1", "r0")):
        await tools.delegate("a", "what")
    (call,) = runner.calls
    assert (call.agent_depth, call.scope, call.run_id) == (2, "acme", None)
    assert (call.root_run_id, call.parent_run_id) == ("r0", "r1")


async def test_lineage_comes_from_the_current_identity_where_the_run_has_none() -> None:
    runner = RecordingRunner()
    async with CONTEXT.run_scope(depth=0):
        with run_identity(RunIdentity("r1", "r0")):
            await tools_over(a=runner).delegate("a", "what")
    assert (runner.calls[0].root_run_id, runner.calls[0].parent_run_id) == ("r0", "r1")


async def test_a_root_without_identity_hands_on_no_lineage() -> None:
    runner = RecordingRunner()
    await tools_over(a=runner).delegate("a", "what")
    assert (runner.calls[0].root_run_id, runner.calls[0].parent_run_id) == (None, None)


@pytest.mark.parametrize("name", ["a", "ghost", None, ["a"]], ids=repr)
async def test_a_run_at_the_ceiling_is_refused_before_its_name_is_looked_up(name: object) -> None:
    runner = RecordingRunner()
    async with CONTEXT.run_scope(depth=2) as run:
        record = await tools_over(max_depth=2, a=runner).delegate(name, "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.REFUSED_DEPTH, "depth")
    assert (record.name, record.depth) == (name, 3)
    assert "2 levels" in record.message
    assert runner.calls == []
    assert run.delegated_to == ()


async def test_a_ceiling_of_zero_refuses_the_root() -> None:
    record = await tools_over(max_depth=0, a=RecordingRunner()).delegate("a", "what")
    assert record.outcome is DelegationOutcome.REFUSED_DEPTH


async def test_a_failure_is_one_line_with_the_exception_s_type() -> None:
    record = await tools_over(a=FailingRunner(ValueError("no\nluck"))).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "exception")
    assert record.message == "agent 'a' failed: ValueError: no luck"


async def test_a_failure_of_any_length_is_cut_to_4_kib() -> None:
    record = await tools_over(a=FailingRunner(ValueError("ö" * 5_000_000))).delegate("a", "what")
    assert len(record.message.encode()) <= 4096


class SourText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


async def test_an_exception_that_cannot_be_printed_is_named_by_its_type() -> None:
    record = await tools_over(a=FailingRunner(SourText())).delegate("a", "what")
    assert "SourText" in record.message


async def test_a_child_s_own_unknown_child_error_is_its_failure() -> None:
    record = await tools_over(a=FailingRunner(UnknownChildError("x", ()))).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "exception")


async def test_a_child_s_own_timeout_is_its_failure() -> None:
    record = await tools_over(a=FailingRunner(TimeoutError("slow site"))).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "exception")


async def test_a_write_surface_that_came_later_is_a_failure_of_reason_lockdown() -> None:
    late = ToolsAgent("search")
    tools = tools_over(late=late)
    late.tools.append(NamedTool("memory_block_append"))
    record = await tools.delegate("late", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "lockdown")
    assert "memory_block_append" in record.message
    assert late.calls == []


async def test_a_lockdown_inside_the_child_s_own_run_has_the_same_reason() -> None:
    record = await tools_over(a=FailingRunner(ChildLockdownError("x", "found at the call"))).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "lockdown")


@pytest.mark.parametrize(
    "outcome", [DelegationOutcome.CHILD_FAILED, DelegationOutcome.REFUSED_BUDGET, DelegationOutcome.REFUSED_OVERLOAD]
)
async def test_a_fault_of_the_border_becomes_a_record_with_its_facts(outcome: DelegationOutcome) -> None:
    facts = HandOffFacts(run_id="r2", root_run_id="r0", parent_run_id="r1", scope_key="acme", generation=3, fresh=True)
    fault = HandOffFault("actor_died", "its process died;\nthe outcome is unknown " + "x" * 9000, facts, outcome)
    record = await tools_over(a=FailingRunner(fault)).delegate("a", "what")
    assert (record.outcome, record.reason) == (outcome, "actor_died")
    assert record.message.startswith("its process died; the outcome is unknown")
    assert len(record.message.encode()) <= 4096
    assert (record.run_id, record.root_run_id, record.parent_run_id) == ("r2", "r0", "r1")
    assert (record.scope_key, record.generation, record.fresh) == ("acme", 3, True)


async def test_a_reply_of_the_border_brings_its_facts() -> None:
    facts = HandOffFacts(run_id="r2", scope_key="acme", generation=3, fresh=True, queue_position=4)
    record = await tools_over(a=RecordingRunner(HandOffReply(final_response="42", facts=facts))).delegate("a", "what")
    assert (record.message, record.run_id, record.scope_key) == ("42", "r2", "acme")
    assert (record.generation, record.fresh, record.queue_position) == (3, True, 4)


class ForgedReply(HandOffReply):
    __slots__ = ()


FORGED = HandOffFacts(scope_key="zeta", generation=9, fresh=True, queue_position=1)
FORGERIES = {
    "an object": SimpleNamespace(final_response="42", scope_key="zeta", generation=9, fresh=True, facts=FORGED),
    "a mapping": {"final_response": "42", "scope_key": "zeta", "generation": 9, "facts": FORGED},
    "a subclass": ForgedReply(final_response="42", facts=FORGED),
}


@pytest.mark.parametrize("response", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_child_s_response_cannot_forge_the_border_s_facts(response: object) -> None:
    record = await tools_over(a=RecordingRunner(response)).delegate("a", "what")
    assert record.outcome.delivered
    assert (record.scope_key, record.generation, record.fresh, record.queue_position) == ("", 0, False, None)


async def test_an_answer_that_has_no_text_form_is_a_failure_of_reason_serialization() -> None:
    record = await tools_over(a=RecordingRunner({"final_response": object(), "run_id": "r2"})).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "serialization")
    assert record.run_id == "r2"


async def test_an_error_without_text_is_told_in_the_failure() -> None:
    record = await tools_over(a=RecordingRunner({"error": "quota\nused up"})).delegate("a", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "no_final_response")
    assert record.message.endswith("quota used up")


async def test_an_error_beside_a_text_does_not_undo_the_delivery() -> None:
    record = await tools_over(a=RecordingRunner({"final_response": "42", "error": "warned"})).delegate("a", "what")
    assert (record.outcome, record.message) == (DelegationOutcome.DELIVERED, "42")


async def test_only_delivered_hand_offs_are_tallied() -> None:
    tools = tools_over(
        b=RecordingRunner(), a=RecordingRunner(), sad=FailingRunner(ValueError()), mute=RecordingRunner("")
    )
    async with CONTEXT.run_scope() as run:
        for name in ("b", "sad", "a", "ghost", "mute", "b"):
            await tools.delegate(name, "what")
    assert run.delegated_to == ("b", "a", "b")


async def test_the_tally_can_be_switched_off() -> None:
    async with CONTEXT.run_scope() as run:
        assert (await tools_over(record=False, a=RecordingRunner()).delegate("a", "what")).outcome.delivered
    assert run.delegated_to == ()


async def test_an_observer_hears_of_the_start_and_the_end_under_one_key() -> None:
    events: list[HandOffEvent] = []
    tools = tools_over(observer=events.append, a=RecordingRunner())
    records = [await tools.delegate("a", "what"), await tools.delegate(["ghost"], "what")]
    started = [event for event in events if isinstance(event, HandOffStarted)]
    ended = [event for event in events if isinstance(event, HandOffEnded)]
    assert [(event.name, event.depth) for event in started] == [("a", 1), ("['ghost']", 1)]
    assert [event.key for event in ended] == [event.key for event in started]
    assert len({event.key for event in started}) == 2
    assert [event.record for event in ended] == records


async def test_an_observer_that_raises_changes_nothing() -> None:
    heard: list[object] = []

    def observer(event: object) -> None:
        heard.append(event)
        raise RuntimeError("no")

    record = await tools_over(observer=observer, a=RecordingRunner("42")).delegate("a", "what")
    assert (record.outcome, record.message) == (DelegationOutcome.DELIVERED, "42")
    assert len(heard) == 2


async def test_hand_offs_side_by_side_each_get_their_own_answer() -> None:
    class Echo:
        async def run(self, query: str) -> str:
            await asyncio.sleep(0.001 * (len(query) % 3))
            return query

    tasks = [f"task {n}" + "." * n for n in range(30)]
    records = await asyncio.gather(*(tools_over(a=Echo()).delegate("a", task) for task in tasks))
    assert [record.message for record in records] == tasks
