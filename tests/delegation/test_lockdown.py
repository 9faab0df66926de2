"""No delegated child holds a prompt-block write surface."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    SELF_EDIT_FIELD,
    WRITE_SURFACE_NAMESPACE,
    WRITE_SURFACE_TOOL_NAMES,
    ChildLockdownError,
    DelegationContext,
    UnsanitisableChildConfigError,
    adapt_child,
    assert_no_write_surface,
    deny_child_self_edit,
    is_write_surface_tool_name,
    palette_names,
    registered_write_surface_tools,
    wants_block_self_edit,
)
from symfonic_ray.testing import RecordingRunner
from tests.delegation.palettes import GraphAgent, Holder, Mirage, NamedTool, PaletteAgent, ToolsAgent

WIDE = {ord(c): ord(c) + 0xFEE0 for c in "abcdefghijklmnopqrstuvwxyz_"}
FAMILY = [*sorted(WRITE_SURFACE_TOOL_NAMES), "memory_block_", "block_editor", "edit_blocks", "write_block2"]
FAMILY += ["update_block", "append_block_x", "replace_block", "rewrite_block"]
SPELLINGS = {
    "plain": "{}",
    "padded": " \t{}\u3000\n",
    "zero-width inside": "\u200b{}\u200d",
    "byte-order mark": "\ufeff{}",
    "NUL": "{}\x00",
    "variation selector": "\ufe0f{}",
    "Hangul filler": "\u3164{}",
    "padding behind an invisible": "\u200b {} \u200b",
}


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_the_family_is_known_in_any_spelling(name: str, spelling: str) -> None:
    for text in (name, name.upper(), name.translate(WIDE), "\u00ad".join(name)):
        assert is_write_surface_tool_name(spelling.format(text)), ascii(text)


@pytest.mark.parametrize(
    "name",
    ["search", "memory_search", "block_list", "unblock", "memoryblock_x", "my_memory_block_x", "blocks_edit", ""],
)
def test_an_innocent_name_passes(name: str) -> None:
    assert not is_write_surface_tool_name(name)


@pytest.mark.parametrize("name", [None, 3, b"memory_block_append", ["memory_block_append"], Mirage()], ids=type)
def test_what_is_no_text_is_no_write_surface(name: object) -> None:
    assert is_write_surface_tool_name(name) is False


def test_the_constants_stand() -> None:
    assert (SELF_EDIT_FIELD, WRITE_SURFACE_NAMESPACE) == ("prompt_block_self_edit", "memory_block_")
    assert {f"memory_block_{verb}" for verb in ("append", "replace", "rewrite")} == WRITE_SURFACE_TOOL_NAMES


@pytest.mark.parametrize("value", [1, "yes", object(), Mirage(), None, False])
def test_only_true_itself_asks_for_self_edit(value: object) -> None:
    assert wants_block_self_edit(SimpleNamespace(prompt_block_self_edit=value)) is False
    assert wants_block_self_edit(SimpleNamespace(prompt_block_self_edit=True)) is True


@pytest.mark.parametrize("config", [None, {}, Mirage(), SimpleNamespace(prompt_block_self_edit=False)], ids=type)
def test_a_config_that_did_not_ask_is_the_same_object(config: object) -> None:
    assert deny_child_self_edit(config) is config


class Config:
    """A config whose copy does, or does not do, what it was asked."""

    def __init__(self, obeys: bool = True) -> None:
        self.prompt_block_self_edit = True
        self._obeys = obeys

    def model_copy(self, *, update: dict[str, Any]) -> Config:
        copy = Config(self._obeys)
        if self._obeys:
            vars(copy).update(update)
        return copy


def test_a_config_that_asked_is_copied_with_the_flag_cleared() -> None:
    asked = Config()
    assert deny_child_self_edit(asked).prompt_block_self_edit is False
    assert asked.prompt_block_self_edit is True


@pytest.mark.parametrize(
    "config",
    [
        SimpleNamespace(prompt_block_self_edit=True),
        SimpleNamespace(prompt_block_self_edit=True, model_copy=3),
        Config(obeys=False),
    ],
    ids=["no copy", "copy is 3", "a copy that does not obey"],
)
def test_a_config_that_cannot_be_cleared_is_refused(config: object) -> None:
    with pytest.raises(UnsanitisableChildConfigError, match="prompt_block_self_edit"):
        deny_child_self_edit(config)


def nicknamed() -> None:
    """A function as a tool."""


SCHEMAS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "names": (["a", "b"], ("a", "b")),
    "named tools": ([NamedTool("a")], ("a",)),
    "functions": ([nicknamed], ("nicknamed",)),
    "flat schemas": ([{"name": "a"}], ("a",)),
    "function schemas": ([{"type": "function", "function": {"name": "a"}}], ("a",)),
    "a mapping to named tools": ({"key": NamedTool("a")}, ("a",)),
    "a mapping to functions": ({"key": nicknamed}, ("nicknamed",)),
    "a mapping to nameless tools": ({"key": object()}, ("key",)),
    "a mapping to texts": ({"key": "what it does"}, ("key",)),
    "a name that is no text": ([NamedTool(3)], ()),
    "a tuple": (("a",), ("a",)),
    "one text": ("abc", ()),
    "nothing": (None, ()),
    "a number": (5, ()),
    "a name twice": (["a", "a"], ("a",)),
}


@pytest.mark.parametrize(("tools", "names"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_palette_is_read_in_any_form(tools: Any, names: tuple[str, ...]) -> None:
    assert palette_names(SimpleNamespace(tools=tools)) == names


@pytest.mark.parametrize("make", [ToolsAgent, PaletteAgent, GraphAgent])
def test_a_palette_is_read_wherever_it_stands(make: Any) -> None:
    assert registered_write_surface_tools(make("search", "Memory_Block_Append")) == ("Memory_Block_Append",)
    assert registered_write_surface_tools(make("search")) == ()


def test_palettes_are_united() -> None:
    agent = PaletteAgent("a")
    agent.tools = [NamedTool("b")]  # type: ignore[attr-defined]
    agent._graph = SimpleNamespace(registry=SimpleNamespace(all_tools=lambda: ["c"]))  # type: ignore[attr-defined]
    assert sorted(palette_names(agent)) == ["a", "b", "c"]


def test_a_palette_is_read_through_one_level_of_wrapping() -> None:
    assert registered_write_surface_tools(Holder(ToolsAgent("edit_block"))) == ("edit_block",)


def test_two_levels_of_wrapping_are_not_read() -> None:
    assert registered_write_surface_tools(Holder(Holder(ToolsAgent("edit_block")))) == ()


@pytest.mark.parametrize("wraps", [1, 2])
def test_our_own_adapter_uses_up_no_level(wraps: int) -> None:
    agent: Any = Holder(ToolsAgent("edit_block"))
    for _ in range(wraps):
        agent = adapt_child("a", agent, DelegationContext())
    assert registered_write_surface_tools(agent) == ("edit_block",)


def test_an_adapter_inside_a_wrapper_is_looked_through_too() -> None:
    assert registered_write_surface_tools(Holder(adapt_child("a", ToolsAgent("edit_block"), DelegationContext()))) != ()


class SourProbes(RecordingRunner):
    @property
    def tools(self) -> Any:
        raise RuntimeError("not today")

    _graph = config = _config = tools

    def palette(self) -> Any:
        raise RuntimeError("not today")


class AsyncPalette(RecordingRunner):
    async def palette(self) -> list[str]:
        return ["memory_block_append"]


class EndlessItems:
    """Can be indexed for ever, as a proxy may; has no ``__iter__``."""

    def __getitem__(self, place: int) -> str:
        return "memory_block_append"


class BreaksOff:
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not today")


UNREADABLE = {
    "no palette": RecordingRunner(),
    "probes that raise": SourProbes(),
    "a mirage": Mirage(),
    "an async palette": AsyncPalette(),
    "endless items": SimpleNamespace(tools=EndlessItems()),
    "an iteration that raises": SimpleNamespace(tools=BreaksOff()),
    "slots": type("Slots", (), {"__slots__": ()})(),
}


@pytest.mark.parametrize("agent", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_child_without_a_readable_palette_has_none(agent: object) -> None:
    assert registered_write_surface_tools(agent) == ()
    assert assert_no_write_surface("a", agent) is agent


def test_a_refusal_names_child_and_tool_and_says_what_to_do() -> None:
    with pytest.raises(ChildLockdownError, match=r"'writer'.*'memory_block_append'.*remove these tools") as caught:
        assert_no_write_surface("writer", ToolsAgent("search", "memory_block_append"))
    assert caught.value.tools == ("memory_block_append",)


@pytest.mark.parametrize(
    "tool", ["m\u0435mory_block_append", "outil\u00e9", "edit block", "a.b", "x" * 65, "", "a\n"], ids=ascii
)
def test_a_name_that_no_provider_accepts_is_refused(tool: str) -> None:
    with pytest.raises(ChildLockdownError, match="rename them"):
        assert_no_write_surface("a", ToolsAgent("search", tool))


@pytest.mark.parametrize("field", ["config", "_config"])
@pytest.mark.parametrize("wrap", [lambda agent: agent, Holder], ids=["itself", "wrapped"])
def test_an_agent_whose_config_asks_for_self_edit_is_refused(field: str, wrap: Any) -> None:
    agent = RecordingRunner()
    setattr(agent, field, SimpleNamespace(prompt_block_self_edit=True))
    with pytest.raises(ChildLockdownError, match="prompt_block_self_edit=False"):
        assert_no_write_surface("a", wrap(agent))
