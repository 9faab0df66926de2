"""How a foreign agent is called."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import AgentCall, accepted_keywords, accepts_run_lineage, call_agent, speaks_prompt
from tests.delegation.palettes import Mirage

ALL = ("scope", "run_id", "agent_depth", "root_run_id", "parent_run_id")
GIVEN = {"scope": "acme", "run_id": "r2", "agent_depth": 2, "root_run_id": "r0", "parent_run_id": "r1"}


def agent(run: Callable[..., Any]) -> SimpleNamespace:
    return SimpleNamespace(run=run)


async def full(query: str, *, scope: Any, run_id: Any, agent_depth: Any, root_run_id: Any, parent_run_id: Any) -> Any:
    return query, (scope, run_id, agent_depth, root_run_id, parent_run_id)


async def prompt_only(prompt: str) -> Any:
    return prompt, ()


async def positional_only(text: str, /) -> Any:
    return text, ()


async def keyword_only(*, question: str, agent_depth: int) -> Any:
    return question, (agent_depth,)


async def catch_all(query: str, **more: Any) -> Any:
    return query, tuple(more[name] for name in ALL)


async def bare_catch_all(**more: Any) -> Any:
    return more.pop("query"), tuple(more[name] for name in ALL)


async def star(*queries: str) -> Any:
    return queries[0], ()


async def graph(query: str, *, agent_depth: int, **state_overrides: Any) -> Any:
    return query, (agent_depth, *state_overrides)


async def half_lineage(query: str, *, root_run_id: Any = None) -> Any:
    return query, (root_run_id,)


async def own_default(query: str, *, temperature: float = 0.5, scope: Any = None) -> Any:
    return query, (temperature, scope)


SIGNATURES: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[Any, ...]]] = {
    "all keywords": (full, ALL, ("acme", "r2", 2, "r0", "r1")),
    "run(prompt)": (prompt_only, (), ()),
    "positional only": (positional_only, (), ()),
    "keyword only": (keyword_only, ("agent_depth",), (2,)),
    "a catch-all": (catch_all, ALL, ("acme", "r2", 2, "r0", "r1")),
    "nothing but a catch-all": (bare_catch_all, ALL, ("acme", "r2", 2, "r0", "r1")),
    "star arguments": (star, (), ()),
    "state overrides": (graph, ("agent_depth",), (2,)),
    "half of the lineage": (half_lineage, ("root_run_id",), ("r0",)),
    "keywords of its own": (own_default, ("scope",), (0.5, "acme")),
}
every_signature = pytest.mark.parametrize(("run", "keywords", "seen"), SIGNATURES.values(), ids=SIGNATURES.keys())


@every_signature
async def test_an_agent_gets_the_keywords_that_its_signature_names(
    run: Callable[..., Any], keywords: tuple[str, ...], seen: tuple[Any, ...]
) -> None:
    assert accepted_keywords(agent(run)) == keywords
    assert await call_agent(agent(run), "what", **GIVEN) == ("what", seen)  # type: ignore[arg-type]


@every_signature
def test_an_agent_that_takes_none_of_them_speaks_prompt(
    run: Callable[..., Any], keywords: tuple[str, ...], seen: tuple[Any, ...]
) -> None:
    assert speaks_prompt(agent(run)) is (keywords == ())


LINEAGE = {"all keywords": True, "a catch-all": True, "half of the lineage": False, "state overrides": False}


@pytest.mark.parametrize("name", LINEAGE)
def test_lineage_goes_to_a_run_that_names_both_or_catches_all(name: str) -> None:
    assert accepts_run_lineage(agent(SIGNATURES[name][0])) is LINEAGE[name]


class Unreadable:
    """A callable whose signature cannot be read."""

    __signature__ = 3

    async def __call__(self, query: str, **more: Any) -> Any:
        return query, tuple(more[name] for name in ALL)


async def test_an_agent_whose_signature_cannot_be_read_gets_everything() -> None:
    assert accepts_run_lineage(agent(Unreadable()))
    assert await call_agent(agent(Unreadable()), "what", **GIVEN) == ("what", ("acme", "r2", 2, "r0", "r1"))  # type: ignore[arg-type]


def test_only_a_named_depth_counts_as_told() -> None:
    assert AgentCall(agent(full)).names_depth
    assert not AgentCall(agent(catch_all)).names_depth
    assert not AgentCall(agent(prompt_only)).names_depth


TENANT: ContextVar[str] = ContextVar("tenant", default="")


async def test_a_plain_function_runs_in_a_thread_with_the_context() -> None:
    def run(prompt: str) -> tuple[str, str, str]:
        return prompt, TENANT.get(), threading.current_thread().name

    TENANT.set("acme")
    text, tenant, thread = await call_agent(agent(run), "what", **GIVEN)  # type: ignore[arg-type]
    assert (text, tenant) == ("what", "acme")
    assert thread != threading.current_thread().name


async def test_a_plain_function_does_not_block_the_loop() -> None:
    gate = threading.Event()
    waiting = asyncio.create_task(call_agent(agent(lambda prompt: gate.wait(5)), "what", **GIVEN))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    gate.set()
    assert await waiting is True


async def test_an_awaitable_that_a_plain_function_gives_is_awaited() -> None:
    assert await call_agent(agent(lambda prompt: prompt_only(prompt)), "what", **GIVEN) == ("what", ())  # type: ignore[arg-type]


def loop_thread(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        asyncio.get_running_loop()
        return run(*arguments, **keywords)

    return wrapper


ASYNC_SHAPES = {"a wrapped one": loop_thread(prompt_only), "a partial": functools.partial(prompt_only)}


@pytest.mark.parametrize("run", ASYNC_SHAPES.values(), ids=ASYNC_SHAPES.keys())
async def test_a_disguised_coroutine_function_runs_on_the_loop(run: Callable[..., Any]) -> None:
    assert await call_agent(agent(run), "what", **GIVEN) == ("what", ())  # type: ignore[arg-type]


async def test_stop_iteration_from_a_plain_function_does_not_hang_its_caller() -> None:
    def run(prompt: str) -> Any:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(call_agent(agent(run), "what", **GIVEN), 5)  # type: ignore[arg-type]


async def test_what_the_agent_raises_leaves_untouched() -> None:
    error = TypeError("run() got an unexpected keyword argument 'scope'")
    calls: list[str] = []

    async def run(query: str, *, scope: Any) -> None:
        calls.append(query)
        raise error

    with pytest.raises(TypeError) as caught:
        await call_agent(agent(run), "what", **GIVEN)  # type: ignore[arg-type]
    assert caught.value is error
    assert calls == ["what"]


async def test_the_signature_is_read_once_and_not_at_each_call() -> None:
    class Counted:
        reads = 0

        @property
        def __signature__(self) -> Any:
            type(self).reads += 1
            raise ValueError("unreadable")

        async def __call__(self, query: str, **more: Any) -> str:
            return query

    call = AgentCall(agent(Counted()))
    reads = Counted.reads
    assert [await call(text) for text in "abc"] == ["a", "b", "c"]
    assert Counted.reads == reads


def test_a_proxy_that_answers_every_attribute_can_be_read() -> None:
    assert accepted_keywords(Mirage()) == ALL
