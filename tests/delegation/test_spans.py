"""A tracer hears of every hand-off and tool call, and without one nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

import pytest

from symfonic_ray.kernel.spans import Attribute, SpanKind, current_tracer, trace_with
from symfonic_ray.testing import FakeFleet


class Recorded:
    """A span in memory."""

    def __init__(self, name: str, attributes: Mapping[str, Attribute], kind: SpanKind) -> None:
        self.name, self.attributes, self.kind = name, dict(attributes), kind
        self.failed = ""
        self.ended = 0

    traceparent = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        self.attributes |= attributes

    def fail(self, words: str) -> None:
        self.failed = words

    def end(self) -> None:
        self.ended += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended += 1


class Memory:
    """A tracer in memory."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    def start(
        self, name: str, attributes: Mapping[str, Attribute], *, kind: SpanKind = "internal", parent: str | None = None
    ) -> Recorded:
        self.spans.append(Recorded(name, attributes, kind))
        return self.spans[-1]

    def traceparent(self) -> str | None:
        return None

    def flush(self, seconds: float) -> None:
        pass


@pytest.fixture
def tracer() -> Iterator[Memory]:
    memory = Memory()
    trace_with(memory)
    yield memory
    trace_with(None)
    assert current_tracer() is None


async def test_a_hand_off_is_one_span_with_its_outcome_and_no_task(tracer: Memory) -> None:
    async def memo(task: str) -> str:
        return "noted"

    async def broken(task: str) -> str:
        raise ValueError("no luck")

    fleet = FakeFleet({"memo": memo, "broken": broken})
    records = [await fleet.delegate(name, "the task") for name in ("memo", "broken", "a name with the task in it")]
    told = [(span.name, span.kind, span.failed, span.ended) for span in tracer.spans]
    assert told == [
        ("invoke_agent memo", "client", "", 1),
        ("invoke_agent broken", "client", records[1].reason, 1),
        ("invoke_agent", "client", "unknown_child", 1),
    ]
    assert tracer.spans[0].attributes["symfonic_ray.outcome"] == "delivered"
    assert tracer.spans[0].attributes["gen_ai.agent.name"] == "memo"
    assert "task" not in str([span.attributes for span in tracer.spans])
