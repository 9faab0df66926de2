"""The catalogue: what a descriptor holds, and how one is read from a typed function."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import AsyncIterator
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from symfonic_ray.execution import (
    DuplicateToolError,
    NotRunnableError,
    Tool,
    ToolDescriptor,
    ToolExecutor,
    descriptor_of,
    descriptors_by_name,
    tool,
)
from tests.execution.doubles import call, echo


@tool
def search(query: str, limit: int = 5, order: Literal["new", "old"] = "new") -> list[str]:
    """Search the archive.

    Only what is public is found.

    Args:
        query: words to look for.
        limit: how many results at most.
    """
    return [query] * limit


@tool(name="page", description="Fetch one page.", idempotent=True, timeout_seconds=5, max_calls_per_invocation=2)
async def fetch(url: str) -> str:
    """Another text."""
    return f"page of {url}"


class Site:
    @staticmethod
    @tool
    def visit(url: str) -> str:
        return f"visit to {url}"


def test_a_descriptor_takes_three_fields_by_position_and_the_others_by_name() -> None:
    assert ToolDescriptor("t", int, 3) == ToolDescriptor(name="t", requires=int, max_calls_per_invocation=3)
    with pytest.raises(TypeError):
        ToolDescriptor("t", None, None, "description")  # type: ignore[call-arg]  # the point


def test_a_descriptor_is_fixed_and_asks_for_nothing_by_default() -> None:
    plain = ToolDescriptor("t")
    assert dataclasses.asdict(plain) == {
        "name": "t",
        "requires": None,
        "max_calls_per_invocation": None,
        "description": "",
        "parameters": {},
        "idempotent": False,
        "num_cpus": None,
        "num_gpus": 0.0,
        "memory": None,
        "resources": {},
        "placement": "task",
        "isolation": None,
        "timeout_seconds": None,
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.name = "other"  # type: ignore[misc]  # the point of the test


def test_a_bare_decorator_reads_name_texts_and_schema() -> None:
    assert (search.name, search.__name__) == ("search", "search")
    assert search.description == "Search the archive.\n\nOnly what is public is found."
    assert search.parameters["type"] == "object"
    assert search.parameters["required"] == ["query"]
    shown = search.parameters["properties"]
    assert (shown["query"]["type"], shown["query"]["description"]) == ("string", "words to look for.")
    assert (shown["limit"]["default"], shown["limit"]["description"]) == (5, "how many results at most.")
    assert shown["order"]["enum"] == ["new", "old"]
    assert "description" not in shown["order"]


def test_options_are_the_descriptor_s_fields_and_come_before_the_docstring() -> None:
    assert dataclasses.replace(fetch.descriptor, parameters={}) == ToolDescriptor(
        "page",
        None,
        2,
        description="Fetch one page.",
        idempotent=True,
        isolation="shared",
        timeout_seconds=5,
    )


def test_every_option_reaches_the_descriptor() -> None:
    @tool(
        requires=int,
        num_cpus=0.5,
        num_gpus=1,
        memory=1024,
        resources={"disk": 1},
        placement="process",
        isolation="shared",
    )
    def heavy() -> None:
        pass

    read = heavy.descriptor
    assert (read.requires, read.num_cpus, read.num_gpus, read.memory) == (int, 0.5, 1, 1024)
    assert (read.resources, read.placement, read.isolation) == ({"disk": 1}, "process", "shared")
    assert read.description == ""


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="num_cpu"):
        tool(num_cpu=1)(echo)  # type: ignore[call-overload]  # the point of the test


def test_a_tool_stays_callable() -> None:
    assert search("x", limit=2) == ["x", "x"]
    assert Site.visit("a") == "visit to a"


async def test_a_tool_runs_under_its_own_name() -> None:
    report = await ToolExecutor().execute([call("page", url="u"), call("search", query="q", limit=1)], [fetch, search])
    assert [outcome.value for outcome in report.outcomes] == ["page of u", ["q"]]


@pytest.mark.parametrize("made", [search, fetch, Site.visit], ids=repr)
def test_a_tool_that_can_be_imported_crosses_a_process_by_its_name(made: Tool) -> None:
    assert pickle.loads(pickle.dumps(made)) is made


def test_a_tool_that_cannot_be_imported_crosses_a_process_by_value() -> None:
    from ray import cloudpickle

    factor = 3

    @tool(timeout_seconds=2)
    def scaled(value: int) -> int:
        """Scale a number."""
        return value * factor

    arrived = cloudpickle.loads(cloudpickle.dumps(scaled))  # type: ignore[no-untyped-call]  # Ray's copy has no types
    assert (arrived(2), arrived.descriptor, arrived.name) == (6, scaled.descriptor, "scaled")


async def streaming(value: int) -> AsyncIterator[int]:
    yield value


async def waiting(value: int) -> int:
    return value


class AsyncCallable:
    async def __call__(self, value: int) -> int:
        return value


KINDS: dict[str, tuple[Any, str]] = {
    "a plain function": (echo, "task"),
    "an async function": (waiting, "shared"),
    "an async generator function": (streaming, "shared"),
    "a partial of an async function": (partial(waiting, 1), "shared"),
    "an async callable": (AsyncCallable(), "shared"),
    "a tool of a plain function": (search, "task"),
    "a tool of an async function": (fetch, "shared"),
    "ainvoke": (SimpleNamespace(ainvoke=waiting, invoke=echo), "shared"),
    "invoke": (SimpleNamespace(invoke=echo), "task"),
    "an async invoke": (SimpleNamespace(invoke=waiting), "shared"),
    "a specification": (SimpleNamespace(coroutine=waiting), "shared"),
}


@pytest.mark.parametrize(("made", "isolation"), KINDS.values(), ids=KINDS.keys())
def test_async_tools_share_a_worker_and_sync_tools_have_a_task_by_default(made: Any, isolation: str) -> None:
    assert descriptor_of(made, "t").isolation == isolation


def test_a_declared_isolation_is_kept() -> None:
    declared = SimpleNamespace(invoke=echo, descriptor=ToolDescriptor("t", isolation="shared"))
    assert descriptor_of(declared, "t") is declared.descriptor


def test_a_tool_without_a_descriptor_is_described_by_the_name_it_is_offered_under() -> None:
    assert descriptor_of(echo, "offered") == ToolDescriptor("offered", isolation="task")
    assert descriptor_of(SimpleNamespace(invoke=echo, descriptor="text"), "t") == ToolDescriptor("t", isolation="task")


def test_what_cannot_be_called_cannot_be_described() -> None:
    with pytest.raises(NotRunnableError, match="int"):
        descriptor_of(5, "five")


@pytest.mark.parametrize("arrange", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_descriptors_are_read_by_name_from_any_iterable_in_its_order(arrange: Any) -> None:
    rows = [ToolDescriptor("b"), ToolDescriptor("a")]
    assert list(descriptors_by_name(arrange(rows)).items()) == [("b", rows[0]), ("a", rows[1])]


def test_tools_stand_for_the_descriptors_they_carry() -> None:
    assert descriptors_by_name([search, ToolDescriptor("t")]) == {"search": search.descriptor, "t": ToolDescriptor("t")}


def test_two_descriptors_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateToolError, match="'t'"):
        descriptors_by_name([ToolDescriptor("t", None, 1), ToolDescriptor("t")])
