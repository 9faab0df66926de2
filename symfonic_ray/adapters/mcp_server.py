"""A fleet as an MCP server: its two delegation tools for any client that speaks the protocol. Knows no transport.

A client gets its list of tools at once; the first hand-off waits until the fleet is ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from symfonic_ray.adapters.as_tool import SCHEMA
from symfonic_ray.agent.untrusted import wrapped
from symfonic_ray.delegation.fleet import Fleet
from symfonic_ray.delegation.names import LIST_AGENTS, RUN_AGENT
from symfonic_ray.delegation.values import DelegationOutcome
from symfonic_ray.kernel.text import collapsed

if TYPE_CHECKING:
    from mcp.server import Server

_FROM_THE_CHILD = (DelegationOutcome.DELIVERED, DelegationOutcome.CHILD_FAILED)


def mcp_server(name: str, children: Mapping[str, str], fleet: Callable[[], Awaitable[Fleet]]) -> Server[Any]:
    """A server with the tools ``run_agent`` and ``list_agents``.

    Args:
        name: what the server calls itself.
        children: description by name, for the tools' own words.
        fleet: waits until the fleet is ready and gives it.
    Raises:
        ImportError: when the package ``mcp`` is not installed.
    """
    from mcp import types
    from mcp.server import Server

    listing = "\n".join(f"  - {child}: {collapsed(description)}" for child, description in children.items())
    tools = [
        types.Tool(
            name=RUN_AGENT,
            description=(
                "Hand one task to one of the agents below and get its answer. The agent does not see this "
                f"conversation: put everything it needs into the task.\n{listing}"
            ),
            input_schema=SCHEMA,
        ),
        types.Tool(
            name=LIST_AGENTS,
            description="List the agents that can be handed a task, with what each is for.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        ),
    ]

    def said(text: str, *, failed: bool = False) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        if params.name == LIST_AGENTS:
            return said(listing)
        if params.name != RUN_AGENT:
            return said(f"no tool is named {params.name!r:.200}; there are {RUN_AGENT} and {LIST_AGENTS}", failed=True)
        missing = [key for key in SCHEMA["required"] if not isinstance(arguments.get(key), str)]
        if missing:
            return said(f"{RUN_AGENT} needs a text for {' and '.join(missing)}", failed=True)
        record = await (await fleet()).delegate(arguments["name"], arguments["task"])
        words = wrapped(record) if record.outcome in _FROM_THE_CHILD else record.message
        return said(words, failed=not record.outcome.delivered)

    return Server(name, on_list_tools=list_tools, on_call_tool=call_tool)
