"""The events of a run, and what remains of a run that is left or cancelled."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from symfonic_ray.agent import (
    Agent,
    AgentStream,
    DelegationEnded,
    DelegationStarted,
    RunEnded,
    TextDelta,
    ToolAnswered,
    ToolProgressed,
    ToolRequested,
)
from symfonic_ray.agent.stream import EVENTS_AHEAD
from symfonic_ray.testing import FakeFleet, ScriptedModel, asking
from tests.agent.conversations import assert_answered


async def count(upto: int) -> AsyncIterator[int]:
    for number in range(upto):
        yield number


async def reader(task: str) -> str:
    return f"read {task}"


async def heard(stream: AgentStream) -> list[Any]:
    return [event async for event in stream]


async def test_events_come_in_the_order_of_the_run() -> None:
    model = ScriptedModel(
        asking(("count", {"upto": 3}), text="One moment."),
        asking(("run_agent", {"name": "reader", "task": "page 1"})),
        "All is well.",
    )
    agent = Agent(model, [count], FakeFleet({"reader": reader}))
    events = await heard(agent.stream("go", run_id="r1"))
    assert [(type(event).__name__, getattr(event, "hop", None)) for event in events] == [
        ("TextDelta", 0),
        ("TextDelta", 0),
        ("ToolRequested", 0),
        ("ToolProgressed", 0),
        ("ToolProgressed", 0),
        ("ToolAnswered", 0),
        ("ToolRequested", 1),
        ("DelegationStarted", 1),
        ("DelegationEnded", 1),
        ("ToolAnswered", 1),
        ("TextDelta", 2),
        ("TextDelta", 2),
        ("TextDelta", 2),
        ("RunEnded", None),
    ]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "One moment.All is well."
    assert [event.progress.payload for event in events if isinstance(event, ToolProgressed)] == [0, 1]
    assert next(event.outcome.value for event in events if isinstance(event, ToolAnswered)) == 2
    assert [event.name for event in events if isinstance(event, DelegationStarted)] == ["reader"]
    assert [event.record.message for event in events if isinstance(event, DelegationEnded)] == ["read page 1"]
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.response.final_response, ended.response.run_id) == ("All is well.", "r1")


async def test_a_streamed_run_and_a_plain_one_come_to_the_same() -> None:
    def agent() -> Agent:
        return Agent(ScriptedModel(asking(("count", {"upto": 2})), "done"), [count])

    plain = await agent().run("go", run_id="r")
    (*_, last) = await heard(agent().stream("go", run_id="r"))
    assert last == RunEnded(response=plain)


async def test_a_model_that_does_not_stream_is_heard_all_at_once() -> None:
    class Speaker:
        async def ainvoke(self, messages: Any) -> str:
            return "all of it"

    events = await heard(Agent(Speaker()).stream("go"))
    assert events[0] == TextDelta(hop=0, text="all of it")


async def test_calls_are_told_by_their_place() -> None:
    model = ScriptedModel(asking(("count", {"upto": 1}), ("count", {"upto": 2})), "done")
    events = await heard(Agent(model, [count]).stream("go"))
    assert [event.slot for event in events if isinstance(event, ToolRequested)] == [0, 1]
    assert [(event.slot, event.outcome.value) for event in events if isinstance(event, ToolAnswered)] == [
        (0, 0),
        (1, 1),
    ]


async def test_a_run_that_raises_raises_at_its_listener_and_then_it_is_over() -> None:
    stream = Agent(ScriptedModel(asking(("count", {"upto": 1})), OSError("cut off")), [count]).stream("go")
    with pytest.raises(OSError, match="cut off"):
        await heard(stream)
    assert await heard(stream) == []
    assert_answered(stream.messages)


class Slow:
    """A tool that says when it started and when it was told to stop."""

    name = "slow"

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()

    async def ainvoke(self, args: Any) -> str:
        self.started.set()
        try:
            await asyncio.sleep(60)
        finally:
            self.stopped.set()
        return "late"


def slow_agent() -> tuple[Slow, Agent]:
    slow = Slow()
    return slow, Agent(ScriptedModel(asking(("slow", {}), ("count", {"upto": 1})), "never"), [slow, count])


async def test_a_cancelled_run_stops_its_tools_and_lets_the_cancellation_through() -> None:
    slow, agent = slow_agent()
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert slow.stopped.is_set()


async def test_a_stream_whose_listener_is_cancelled_keeps_messages_in_which_every_call_is_answered() -> None:
    slow, agent = slow_agent()
    stream = agent.stream("go")
    listener = asyncio.create_task(heard(stream))
    await slow.started.wait()
    listener.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listener
    assert slow.stopped.is_set()
    assert_answered(stream.messages)
    assert [message.is_error for message in stream.messages if message.role == "tool"] == [True, True]
    assert "not known" in stream.messages[-1].content


async def test_leaving_a_stream_early_ends_the_run() -> None:
    slow, agent = slow_agent()
    async with agent.stream("go") as stream:
        async for _ in stream:
            await slow.started.wait()
            break
    assert slow.stopped.is_set()
    assert_answered(stream.messages)
    await stream.aclose()
    assert await heard(stream) == []


async def test_a_stream_that_is_forgotten_ends_the_run() -> None:
    slow, agent = slow_agent()
    stream = agent.stream("go")
    await anext(stream)
    await slow.started.wait()
    del stream
    gc.collect()
    async with asyncio.timeout(5):
        await slow.stopped.wait()


async def test_a_stream_may_be_closed_from_another_task_or_before_it_began() -> None:
    slow, agent = slow_agent()
    unbegun = agent.stream("go")
    await unbegun.aclose()
    assert await heard(unbegun) == []
    stream = agent.stream("go")
    await anext(stream)
    await slow.started.wait()
    await asyncio.create_task(stream.aclose())
    assert slow.stopped.is_set()


async def test_a_run_that_failed_unheard_is_not_complained_of() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    stream = Agent(ScriptedModel(asking(("count", {"upto": 1})), OSError("cut off")), [count]).stream("go")
    await anext(stream)
    await asyncio.sleep(0.05)
    await stream.aclose()
    del stream
    gc.collect()
    assert complaints == []


async def test_progress_tells_the_hop_it_belongs_to() -> None:
    model = ScriptedModel(asking(("count", {"upto": 2})), asking(("count", {"upto": 3})), "done")
    events = await heard(Agent(model, [count]).stream("go"))
    assert [event.hop for event in events if isinstance(event, ToolProgressed)] == [0, 1, 1]


async def test_a_model_s_stream_is_closed_when_the_run_ends_in_the_middle_of_it() -> None:
    closed: list[int] = []

    class Endless:
        async def ainvoke(self, messages: Any) -> str:
            return ""

        async def astream(self, messages: Any) -> AsyncIterator[str]:
            try:
                while True:
                    yield "word "
            finally:
                closed.append(1)

    stream = Agent(Endless()).stream("go")
    await anext(stream)
    await asyncio.sleep(0.05)
    await stream.aclose()
    assert closed == [1]


async def test_a_run_waits_for_a_listener_that_is_far_behind() -> None:
    turns = 2 * EVENTS_AHEAD
    model = ScriptedModel(" ".join(["word"] * turns))
    stream = Agent(model).stream("go")
    await anext(stream)
    await asyncio.sleep(0.05)
    assert stream._events.qsize() == EVENTS_AHEAD
    assert len(await heard(stream)) == turns
