"""Termination: the exact boundary between polling and a loop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.execution import (
    CallBudget,
    LoopTerminationPolicy,
    PreconditionSet,
    ToolCall,
    ToolDescriptor,
    ToolExecutor,
)


def asks(*wanted: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "ai", "tool_calls": [{"id": "i", "name": name, "args": args} for name, args in wanted]}


def poll(job: Any = 1) -> dict[str, Any]:
    return asks(("poll", {"job": job}))


RESULT = {"type": "tool", "name": "poll", "tool_call_id": "i", "content": "not yet", "tool_calls": []}
SAID = {"type": "ai", "content": "done", "tool_calls": []}
CYCLE = [asks(("read", {"f": 1})), asks(("edit", {"f": 1})), asks(("test", {}))]


def answered(messages: list[Any]) -> list[Any]:
    return [part for message in messages for part in (message, *[RESULT] * len(message["tool_calls"]))]


GOES, LOOPS, NAMES = "continue", "repeated_signature", "repeated_name"

TABLE: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "a: two equal polls": ([poll()] * 2, {}, GOES),
    "b: three equal polls": ([poll()] * 3, {}, LOOPS),
    "c: six steps of a cycle of three": (CYCLE * 2, {}, GOES),
    "c: the seventh step": ([*CYCLE * 2, CYCLE[0]], {}, LOOPS),
    "d: three equal polls in 10 messages": ([poll(), *map(poll, range(2, 9)), poll(), poll()], {}, LOOPS),
    "d: three equal polls in 11 messages": ([poll(), *map(poll, range(2, 10)), poll(), poll()], {}, GOES),
    "e: a threshold of 50": ([poll()] * 20, {"signature_threshold": 50}, GOES),
    "f: one name with ten arguments": (list(map(poll, range(10))), {}, GOES),
    "g: a name three times of four": (list(map(poll, range(3))), {"name_only_threshold": 4}, GOES),
    "g: a name four times of four": (list(map(poll, range(4))), {"name_only_threshold": 4}, NAMES),
    "both rules at once": ([poll()] * 3, {"name_only_threshold": 3}, LOOPS),
    "three at once in one message": ([asks(*[("poll", {"job": 1})] * 3)], {}, LOOPS),
    "a window of one message": ([poll()] * 3, {"window": 1}, GOES),
    "a window of three messages": ([poll()] * 3, {"window": 3}, LOOPS),
    "a window below one": ([poll(), poll()], {"window": 0, "signature_threshold": 2}, GOES),
    "a threshold below one": ([poll()], {"signature_threshold": 0}, LOOPS),
    "key order": (
        [asks(("t", {"a": 1, "b": 2})), asks(("t", {"b": 2, "a": 1})), asks(("t", '{"b":2,"a":1}'))],
        {},
        LOOPS,
    ),
    "1, '1' and True": ([poll(1), poll("1"), poll(True)], {}, GOES),
    "unreadable arguments": ([asks(("t", '{"a": '))] * 3, {}, LOOPS),
    "arguments of four odd kinds": ([asks(("t", odd)) for odd in ('{"a": ', None, [1], {1, 2})], {}, GOES),
}


@pytest.mark.parametrize(("messages", "settings", "reason"), TABLE.values(), ids=TABLE.keys())
@pytest.mark.parametrize("arrange", [list, answered], ids=["before answers", "after answers"])
def test_d01_the_loop_stops_exactly_where_the_table_says(
    arrange: Any, messages: list[Any], settings: dict[str, Any], reason: str
) -> None:
    verdict = LoopTerminationPolicy(**settings).evaluate(arrange(messages))
    assert (verdict.reason, verdict.terminate) == (reason, reason != GOES)


def test_messages_that_ask_for_nothing_take_no_place_in_the_window() -> None:
    question = {"type": "human", "content": "and?"}
    messages = [poll(), *[question] * 20, poll(), *[RESULT] * 20, poll()]
    assert LoopTerminationPolicy(window=3).evaluate(messages).reason == LOOPS


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [poll(), RESULT, SAID],
        [poll(), {"type": "human"}],
        [RESULT],
        [SimpleNamespace(content="x")],
        [None],
        [{"tool_calls": None}],
        [{"tool_calls": "poll"}],
    ],
    ids=["no messages", "an answer", "a question", "only a result", "no calls", "none", "calls none", "calls text"],
)
def test_a_last_message_that_asks_for_no_tool_stops(messages: list[Any]) -> None:
    verdict = LoopTerminationPolicy().evaluate(messages)
    assert (verdict.terminate, verdict.reason, verdict.detail) == (True, "no_tool_calls", "")


def test_the_detail_names_the_tool_that_repeats() -> None:
    looping = [asks(("other", {}), ("poll", {}))] * 2 + [asks(("poll", {}))]
    assert LoopTerminationPolicy().evaluate(looping).detail == "poll was asked for 3 times with the same arguments"
    named = LoopTerminationPolicy(name_only_threshold=2).evaluate([poll(1), poll(2)])
    assert named.detail == "poll was asked for 2 times"


@pytest.mark.parametrize(
    "message",
    [
        SimpleNamespace(tool_calls=[SimpleNamespace(id="i", name="poll", args={"job": 1})]),
        {"tool_calls": [{"id": None, "function": {"name": "poll", "arguments": '{"job": 1}'}}]},
        SimpleNamespace(tool_calls=({"name": "poll", "args": {"job": 1}},)),
    ],
    ids=["attributes", "openai", "mixed"],
)
def test_messages_and_their_calls_are_read_by_key_or_attribute(message: Any) -> None:
    verdict = LoopTerminationPolicy().evaluate([poll(), message, message])
    assert verdict.reason == LOOPS


def test_an_unreadable_message_asks_for_nothing() -> None:
    class Torn:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("torn")

    assert LoopTerminationPolicy().evaluate([poll(), Torn()]).reason == "no_tool_calls"


UNREADABLE: list[Any] = [
    None,
    {},
    5,
    "text",
    {"window": "x"},
    {"window": 0},
    {"window": -3},
    {"window": True},
    {"window": 2.5},
    {"window": None, "signature_threshold": []},
    {"signature_threshold": {}},
    {"name_only_threshold": "x"},
    {"name_only_threshold": 0},
]


@pytest.mark.parametrize("mapping", UNREADABLE, ids=repr)
def test_unreadable_settings_are_the_defaults(mapping: Any) -> None:
    assert LoopTerminationPolicy.from_mapping(mapping) == LoopTerminationPolicy(10, 3, None)


def test_readable_settings_stand_beside_unreadable_ones() -> None:
    full = {"window": 5, "signature_threshold": 2, "name_only_threshold": 4, "colour": "red"}
    assert LoopTerminationPolicy.from_mapping(full) == LoopTerminationPolicy(5, 2, 4)
    assert LoopTerminationPolicy.from_mapping(SimpleNamespace(**full)) == LoopTerminationPolicy(5, 2, 4)
    assert LoopTerminationPolicy.from_mapping({"window": 5, "signature_threshold": "x"}) == LoopTerminationPolicy(5)


async def test_d29_the_stop_comes_with_every_call_of_the_hop_answered() -> None:
    calls = [ToolCall(f"c{number}", "poll", {"job": 1}) for number in range(3)]
    limits = PreconditionSet([CallBudget({"poll": ToolDescriptor("poll", None, 1)})])
    report = await ToolExecutor(preconditions=limits).execute(calls, {"poll": lambda job: "not yet"})
    message = {"type": "ai", "tool_calls": [{"id": c.id, "name": c.name, "args": c.args} for c in calls]}
    results = [{"type": "tool", "tool_call_id": o.call.id, "content": o.content} for o in report.outcomes]
    assert LoopTerminationPolicy().evaluate([message, *results]).reason == LOOPS
    assert [(o.attempts, bool(o.content)) for o in report.outcomes] == [(1, True), (0, True), (0, True)]
