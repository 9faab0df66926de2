"""What a model is offered, and what no agent may hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.agent import Agent, ToolNameError
from symfonic_ray.agent.palette import offered
from symfonic_ray.delegation import palette_names
from symfonic_ray.execution import DuplicateToolError, NotRunnableError, UnnamedToolError, tool
from symfonic_ray.testing import ScriptedModel


def add(left: int, right: int = 0) -> int:
    """Add two numbers.

    Args:
        left: the first one.
    """
    return left + right


def invocable(name: Any, **more: Any) -> Any:
    return SimpleNamespace(name=name, invoke=lambda args: args, **more)


def test_a_plain_function_is_offered_with_its_schema_and_its_words() -> None:
    (one,) = Agent(ScriptedModel("x"), [add]).tools
    function = offered(one)["function"]
    assert function["name"] == "add"
    assert function["description"] == "Add two numbers."
    assert function["parameters"]["required"] == ["left"]
    assert function["parameters"]["properties"]["left"]["description"] == "the first one."


def test_a_tool_keeps_the_name_and_the_schema_of_its_descriptor() -> None:
    (one,) = Agent(ScriptedModel("x"), [tool(name="sum_up", description="Sums.")(add)]).tools
    assert offered(one)["function"]["name"] == "sum_up"
    assert offered(one)["function"]["description"] == "Sums."


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": {"type": "object", "properties": {"q": {}}}},
        {"args_schema": {"type": "object", "properties": {"q": {}}}},
        {"args_schema": SimpleNamespace(model_json_schema=lambda: {"type": "object", "properties": {"q": {}}})},
    ],
    ids=["its own", "a mapping", "a model"],
)
def test_a_foreign_tool_is_offered_with_the_schema_it_carries(more: dict[str, Any]) -> None:
    schema = offered(invocable("search", description="Searches.", **more))
    assert schema == {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Searches.",
            "parameters": {"type": "object", "properties": {"q": {}}},
        },
    }


def test_a_tool_without_a_schema_takes_any_object() -> None:
    assert offered(invocable("any"))["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("name", ["search web", "añadir", "x" * 65, "add\u200b"])
def test_a_name_that_no_provider_accepts_is_refused_with_what_is_wrong(name: str) -> None:
    with pytest.raises(ToolNameError) as caught:
        Agent(ScriptedModel("x"), [invocable(name)])
    assert "A-Z" in str(caught.value)
    assert caught.value.name == name


@pytest.mark.parametrize("name", ["run_agent", "list_agents"])
def test_the_names_of_delegation_are_not_for_tools(name: str) -> None:
    with pytest.raises(ToolNameError, match="delegation"):
        Agent(ScriptedModel("x"), [invocable(name)])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateToolError):
        Agent(ScriptedModel("x"), [invocable("add"), add])


@pytest.mark.parametrize("nameless", [SimpleNamespace(invoke=print), invocable(None), invocable(7)])
def test_a_tool_without_a_name_is_refused(nameless: Any) -> None:
    with pytest.raises(UnnamedToolError):
        Agent(ScriptedModel("x"), [nameless])


def test_a_tool_in_which_nothing_can_be_called_is_refused() -> None:
    with pytest.raises(NotRunnableError):
        Agent(ScriptedModel("x"), [SimpleNamespace(name="stone")])


def test_an_agent_shows_its_palette() -> None:
    agent = Agent(ScriptedModel("x"), [add, invocable("search")])
    assert agent.palette() == ("add", "search")
    assert palette_names(agent) == ("add", "search")
    assert "add, search" in repr(agent)


async def test_what_is_offered_is_what_is_bound() -> None:
    model = ScriptedModel("x")
    await Agent(model, [add, invocable("search")]).run("go")
    assert model.offered == ["add", "search"]
