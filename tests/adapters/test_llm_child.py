"""The generic LLM child: what its options name, and that it is a child like any other."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from actors import llm
from symfonic_ray.adapters.errors import NotImportableError, UnknownModelError
from symfonic_ray.delegation import (
    ChildLockdownError,
    ScopedChild,
    accepted_keywords,
    delegated_children,
    palette_names,
)
from symfonic_ray.delegation.calling import RUN_KEYWORDS
from symfonic_ray.execution import tool

HERE = __name__


@tool
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


@tool(name="memory_block_append")
def pen(text: str) -> str:
    """Write a prompt."""
    return text


SHOUTS = 'scripted:[[{"name": "shout", "args": {"text": "hey"}}], "said it"]'


class Closable:
    """A model that tells whether it was closed."""

    closed = 0

    async def ainvoke(self, messages: Any) -> str:
        return str(messages[0]["content"])

    async def aclose(self) -> None:
        type(self).closed += 1


async def test_a_child_runs_the_model_the_prompt_and_the_tools_of_its_options() -> None:
    child = llm.child(model=SHOUTS, tools=(f"{HERE}:shout",))("acme")
    response = await child.run("shout hey")
    assert response.final_response == "said it"
    assert [outcome.value for outcome in response.report.outcomes] == ["HEY"]
    prompted = llm.child(model=f"langchain:{HERE}:Closable", system_prompt="Only this.")("acme")
    assert (await prompted.run("hi")).final_response == "Only this."


def test_a_build_crosses_to_a_host_by_pickle() -> None:
    build = llm.child(model="scripted:hi", tools=(f"{HERE}:shout",), max_hops=2)
    assert pickle.loads(pickle.dumps(build)) == build


def test_a_child_has_the_whole_contract_and_shows_its_palette() -> None:
    child = llm.child(model="scripted:hi", tools=(f"{HERE}:shout",))("acme")
    assert accepted_keywords(child) == RUN_KEYWORDS
    assert palette_names(child) == ("shout",)


async def test_a_child_is_built_asked_and_closed_by_a_composition() -> None:
    build = llm.child(model=f"langchain:{HERE}:Closable")
    before = Closable.closed
    async with delegated_children([ScopedChild(name="llm", description="answers", build=build)], scope="acme") as team:
        record = await team.tools.delegate("llm", "hi")
    assert record.message == llm.SYSTEM_PROMPT
    assert Closable.closed == before + 1


async def test_closing_a_child_whose_model_cannot_be_closed_does_nothing() -> None:
    await llm.child(model="scripted:hi")("acme").aclose()


def test_a_child_with_a_write_surface_is_refused() -> None:
    build = llm.child(model="scripted:hi", tools=(f"{HERE}:pen",))
    with pytest.raises(ChildLockdownError):
        delegated_children([ScopedChild(name="llm", description="answers", build=build)], scope="acme")


@pytest.mark.parametrize(
    ("options", "error"),
    [({"model": "gpt"}, UnknownModelError), ({"model": "scripted:x", "tools": ("nowhere:x",)}, NotImportableError)],
)
def test_options_that_name_nothing_fail_the_build(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        llm.child(**options)("acme")


def test_the_plain_build_is_the_local_model_without_tools() -> None:
    assert llm.LlmBuild() == llm.child() == llm.LlmBuild(model="local", tools=())
