"""A plain function as a child of a composition: what it is sent, and what its answer may be."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from symfonic_ray.adapters.child_from import child_from
from symfonic_ray.adapters.foreign_error import ForeignAgentError
from symfonic_ray.delegation import DelegationRecord, ScopedChild, delegated_children
from symfonic_ray.delegation.calling import AgentCall


def plain(task: str) -> str:
    return f"plain {task}"


async def waiting(task: str) -> str:
    await asyncio.sleep(0)
    return f"waiting {task}"


def prefixed(prefix: str, task: str) -> str:
    return f"{prefix} {task}"


@dataclass
class Robot:
    """An object that is called like a function."""

    name: str

    async def __call__(self, task: str) -> str:
        return f"{self.name} {task}"


async def answered(agent: Any, task: str = "go", scope: str = "acme") -> DelegationRecord:
    """The record of one hand-off to ``agent``."""
    declared = ScopedChild(name="it", description="answers", build=lambda _: child_from(agent))
    async with delegated_children([declared], scope=scope) as team:
        return await team.tools.delegate("it", task)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (plain, "plain go"),
        (waiting, "waiting go"),
        (functools.partial(prefixed, "partial"), "partial go"),
        (Robot("robot"), "robot go"),
        (lambda task: waiting(task), "waiting go"),
    ],
    ids=["a plain one", "an async one", "a partial", "a callable object", "one that gives a coroutine"],
)
async def test_a_function_answers_as_a_child(function: Callable[..., Any], answer: str) -> None:
    assert (await answered(function)).message == answer


async def test_a_function_is_sent_the_run_keywords_that_it_names() -> None:
    seen: dict[str, Any] = {}

    async def nosy(task: str, *, scope: str, agent_depth: int) -> str:
        seen.update(scope=scope, agent_depth=agent_depth)
        return "seen"

    await answered(nosy, scope="acme")
    assert seen == {"scope": "acme", "agent_depth": 1}


@pytest.mark.parametrize(
    ("said", "message"),
    [({"found": ["ä"]}, '{"found": ["ä"]}'), (7, "7"), ({"final_response": "just this"}, "just this")],
    ids=["data", "a number", "an answer in our own form"],
)
async def test_data_that_a_function_gives_is_an_answer(said: Any, message: str) -> None:
    assert (await answered(lambda task: said)).message == message


async def test_a_function_that_gives_nothing_has_not_answered() -> None:
    record = await answered(lambda task: None)
    assert not record.outcome.delivered


async def test_a_plain_function_runs_in_a_thread_and_an_async_one_does_not() -> None:
    assert AgentCall(child_from(plain)).blocking
    assert not AgentCall(child_from(waiting)).blocking
    here = threading.current_thread().name
    assert (await answered(lambda task: threading.current_thread().name)).message != here


def test_a_function_without_a_task_is_refused() -> None:
    with pytest.raises(ForeignAgentError, match=r"takes no argument; give it one for the task"):
        child_from(lambda: "hi")
