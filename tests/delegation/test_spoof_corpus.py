"""Sixty spellings of a write surface, refused where a palette is: when a child is built and when it is called."""

from __future__ import annotations

import pytest

from symfonic_ray.delegation import (
    ChildCompiler,
    ChildLockdownError,
    DelegationOutcome,
    DelegationRoster,
    PrebuiltChild,
)
from symfonic_ray.testing import PlainInheritance, RecordingBuilder
from tests.delegation.palettes import NamedTool, ToolsAgent
from tests.delegation.test_tools import tools_over

WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in "abcdefghijklmnopqrstuvwxyz_"}
CYRILLIC = str.maketrans({"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440", "c": "\u0441", "y": "\u0443"})
GREEK = str.maketrans({"o": "\u03bf", "i": "\u03b9", "k": "\u03ba", "e": "\u03b5"})

SPOOFS = (
    # as they are, and with suffixes
    "memory_block_append",
    "memory_block_replace",
    "memory_block_rewrite",
    "memory_block_",
    "memory_block_appendix",
    "memory_block_append_v2",
    "memory_block_append-safe",
    "memory_block_anything_at_all",
    "edit_block",
    "edit_blocks",
    "edit_block_2",
    "block_edit",
    "block_editor",
    "write_block",
    "write_block_now",
    "update_block",
    "update_blocks",
    "append_block",
    "append_block_x",
    "replace_block",
    "rewrite_block",
    # case
    "MEMORY_BLOCK_APPEND",
    "Memory_Block_Append",
    "mEmOrY_bLoCk_RePlAcE",
    "EDIT_BLOCK",
    "Write_Block",
    # spaces around and inside
    " memory_block_append",
    "memory_block_append ",
    "\tmemory_block_append\n",
    "\u3000memory_block_append",
    "\u00a0edit_block\u00a0",
    "memory block append",
    "edit block",
    # full-width and other compatibility forms
    "memory_block_append".translate(WIDE),
    "edit_block".translate(WIDE),
    "MEMORY_block_append".translate(WIDE),
    "memory_\uff42lock_append",
    "\U0001d426\U0001d41e\U0001d426ory_block_append",
    "\u24dcemory_block_append",
    # zero-width and other invisible characters
    "\u200bmemory_block_append",
    "memory_\u200bblock_append",
    "memory_block\u200d_append",
    "mem\u00adory_block_append",
    "\ufeffedit_block",
    "edit\u2060_block",
    "\u3164write_block",
    "write_block\ufe0f",
    "memory_block_append\x00",
    "\u202ememory_block_append",
    # look-alike letters
    "memory_block_append".translate(CYRILLIC),
    "memory_block_replace".translate(CYRILLIC),
    "edit_block".translate(CYRILLIC),
    "memory_block_append".translate(GREEK),
    "edit_block".translate(GREEK),
    "mem\u00f6ry_block_append",
    "memory_bl\u043eck_append",
    "memory\u2013block\u2013append",
    "memory\u203fblock\u203fappend",
    "edit\u00b7block",
    "m\u0435mory_block_append",
)

BENIGN = (
    "search",
    "memory_search",
    "memory-block-list",
    "memoryblock",
    "memory_blocks",
    "my_memory_block_reader",
    "read_memory_block",
    "list_blocks",
    "block",
    "blocks",
    "block_list",
    "block_count",
    "block_hash",
    "blocked_users",
    "unblock",
    "unblock_edit",
    "get_block",
    "read_block",
    "show_block_edit_history",
    "find_edit_block",
    "editor",
    "edit",
    "edit_file",
    "edit_bloc",
    "editblock",
    "write",
    "write_file",
    "write_bloc",
    "write_report",
    "update",
    "update_ticket",
    "update_row",
    "append",
    "append_row",
    "append_to_log",
    "replace",
    "replace_text",
    "rewrite",
    "rewrite_query",
    "summarise",
    "translate",
    "calculate",
    "fetch",
    "fetch_url",
    "http-get",
    "sql",
    "SQL",
    "send_mail",
    "weather",
    "weather_2",
    "a",
    "Z9",
    "_private",
    "-dash",
    "tool_42",
    "plan",
    "reason",
    "CamelCase",
    "x" * 64,
    "no_more_blocks",
)


def test_both_lists_hold_sixty_different_names() -> None:
    assert len(set(SPOOFS)) == len(SPOOFS) == 60
    assert len(set(BENIGN)) == len(BENIGN) == 60


def compiled(agent: ToolsAgent) -> DelegationRoster:
    compiler = ChildCompiler(builder=RecordingBuilder(), inheritance=PlainInheritance())
    declared = PrebuiltChild(name="helper", description="helps", agent=agent)
    return DelegationRoster(compiler.compile([declared], parent_config={}).entries)


@pytest.mark.parametrize("name", SPOOFS, ids=ascii)
async def test_a_spoofed_name_is_refused_at_build_and_at_call(name: str) -> None:
    with pytest.raises(ChildLockdownError):
        compiled(ToolsAgent("search", name))
    agent = ToolsAgent("search")
    tools = tools_over(helper=agent)
    agent.tools.append(NamedTool(name))
    record = await tools.delegate("helper", "what")
    assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "lockdown")
    assert agent.calls == []


@pytest.mark.parametrize("name", BENIGN, ids=ascii)
async def test_an_innocent_name_passes_at_build_and_at_call(name: str) -> None:
    assert compiled(ToolsAgent(name)).names == ("helper",)
    agent = ToolsAgent("search")
    tools = tools_over(helper=agent)
    agent.tools.append(NamedTool(name))
    assert (await tools.delegate("helper", "what")).outcome is DelegationOutcome.DELIVERED
