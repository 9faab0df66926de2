"""Faults that people reported against systems like ours: the parts of the public cases that need no cluster.

D03 is in test_context.py, D10 in test_cancellation.py, D02 in test_lifecycle.py.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    DelegationCapability,
    DelegationError,
    DelegationOutcome,
    HandOffFault,
    PrebuiltChild,
    ScopedChild,
    UnknownChildError,
    delegated_children,
)
from symfonic_ray.testing import FailingRunner, RecordingRunner


def fleet(**agents: Any) -> DelegationCapability:
    return delegated_children(
        [PrebuiltChild(name=name, description=f"does {name}", agent=agent) for name, agent in agents.items()]
    )


async def test_d05_a_task_that_arrives_as_an_object_is_handed_on_as_json() -> None:
    writer = RecordingRunner()
    record = await fleet(writer=writer).tools.delegate("writer", {"description": "Summarise", "type": "str"})
    assert record.outcome.delivered
    assert [call.query for call in writer.calls] == ['{"description": "Summarise", "type": "str"}']


@pytest.mark.parametrize("name", [{"description": "writer"}, ["writer"], None], ids=repr)
async def test_d05_a_name_that_arrives_as_an_object_is_unknown(name: object) -> None:
    writer = RecordingRunner()
    record = await fleet(writer=writer).tools.delegate(name, "x")
    assert (record.outcome, record.reason, record.name) == (DelegationOutcome.UNKNOWN_CHILD, "unknown_child", name)
    assert "  - writer: does writer" in record.message
    assert writer.calls == []


async def test_d15_runs_side_by_side_each_hear_of_their_own_task_and_depth() -> None:
    class Reporter:
        async def run(self, query: str, *, agent_depth: int) -> str:
            await asyncio.sleep(0.001 * (int(query) % 4))
            return f"{query} at {agent_depth}"

    whole = fleet(reporter=Reporter())

    async def one(task: int) -> str:
        async with whole.run_scope(depth=task % 3):
            return (await whole.tools.delegate("reporter", str(task))).message

    assert await asyncio.gather(*map(one, range(20))) == [f"{task} at {task % 3 + 1}" for task in range(20)]


EMPTY = {
    "empty": SimpleNamespace(final_response=""),
    "blank": SimpleNamespace(final_response=" \n"),
    "None": SimpleNamespace(final_response=None),
    "no such attribute": SimpleNamespace(),
    "no response": None,
}


@pytest.mark.parametrize("response", EMPTY.values(), ids=EMPTY.keys())
async def test_d16_a_child_with_nothing_to_say_has_failed_and_is_not_tallied(response: object) -> None:
    whole = fleet(mute=RecordingRunner(response))
    async with whole.run_scope() as run:
        record = await whole.tools.delegate("mute", "x")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "no_final_response")
    assert "no final response" in record.message
    assert run.delegated_to == ()


async def test_d16_the_ids_of_an_empty_answer_are_copied() -> None:
    response = SimpleNamespace(final_response="", run_id="r2", root_run_id="r0", parent_run_id="r1")
    record = await fleet(mute=RecordingRunner(response)).tools.delegate("mute", "x")
    assert (record.run_id, record.root_run_id, record.parent_run_id) == ("r2", "r0", "r1")


async def test_d16_zero_is_an_answer() -> None:
    record = await fleet(zero=RecordingRunner(SimpleNamespace(final_response="0"))).tools.delegate("zero", "x")
    assert (record.outcome, record.message) == (DelegationOutcome.DELIVERED, "0")


def gives_none(scope: object) -> None:
    return None


def raises(scope: object) -> None:
    raise OSError("no disk")


@pytest.mark.parametrize("build", [gives_none, raises])
def test_d23_a_child_that_cannot_be_built_is_refused_by_name(build: Any) -> None:
    with pytest.raises(DelegationError, match="'memo'"):
        delegated_children([ScopedChild(name="memo", description="d", build=build)], scope="acme")


async def test_d23_a_lost_child_is_not_replaced_by_another() -> None:
    other = RecordingRunner()
    lost = FailingRunner(HandOffFault("actor_died", "its process is gone; the outcome is unknown"))
    record = await fleet(lost=lost, other=other).tools.delegate("lost", "x")
    assert (record.name, record.outcome, record.reason) == ("lost", DelegationOutcome.CHILD_FAILED, "actor_died")
    assert other.calls == []


async def test_d23_each_scope_s_roster_reaches_its_own_children_only() -> None:
    built: dict[str, RecordingRunner] = {}

    def build(scope: str) -> RecordingRunner:
        return built.setdefault(scope, RecordingRunner(f"of {scope}"))

    child = ScopedChild(name="memo", description="d", build=build)
    acme, zeta = delegated_children([child], scope="acme"), delegated_children([child], scope="zeta")
    assert (await acme.tools.delegate("memo", "x")).message == "of acme"
    assert (await zeta.tools.delegate("memo", "x")).message == "of zeta"
    assert [call.scope for call in built["acme"].calls] == ["acme"]


@pytest.mark.parametrize("name", ["wrtier", "", "../writer", "x" * 5000], ids=["a typo", "empty", "a path", "endless"])
async def test_d30_a_guessed_name_is_a_value_that_lists_who_there_is(name: str) -> None:
    whole = fleet(writer=RecordingRunner(), reviewer=RecordingRunner())
    async with whole.run_scope() as run:
        record = await whole.tools.delegate(name, "x")
    assert (record.outcome, record.name) == (DelegationOutcome.UNKNOWN_CHILD, name)
    assert name[:50] in record.message
    assert "writer: does writer" in record.message
    assert "reviewer: does reviewer" in record.message
    assert len(record.message) < 1000
    assert run.delegated_to == ()


async def test_d30_a_guessed_name_is_an_error_for_a_programmer() -> None:
    with pytest.raises(KeyError) as caught:
        await fleet(writer=RecordingRunner()).roster.run("wrtier", "x")
    assert isinstance(caught.value, UnknownChildError)
