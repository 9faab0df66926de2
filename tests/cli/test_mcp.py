"""A fleet for MCP clients: in this process with a fleet of functions, and over stdio with the command on a real Ray."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from symfonic_ray.adapters.mcp_server import mcp_server
from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.testing import FakeFleet

ROOT = Path(__file__).resolve().parents[2]
CHILDREN = {"echo": "Says it again.", "wild": "Raises,\nand more."}


async def echo(task: str) -> str:
    return f"again: {task}"


async def wild(task: str) -> str:
    raise RuntimeError("no luck")


def served(fleet: FakeFleet) -> Any:
    async def ready() -> FakeFleet:
        return fleet

    return mcp_server("fleet", CHILDREN, ready)


def text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


async def test_a_client_finds_the_tools_with_the_children_in_their_words() -> None:
    async with Client(served(FakeFleet({"echo": echo, "wild": wild}))) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"run_agent", "list_agents"}
        assert "  - echo: Says it again.\n  - wild: Raises, and more." in str(tools["run_agent"].description)
        assert tools["run_agent"].input_schema["required"] == ["name", "task"]
        assert "  - echo: Says it again." in text(await client.call_tool("list_agents", {}))


async def test_a_client_hands_work_on_and_reads_the_answer_as_data() -> None:
    fleet = FakeFleet({"echo": echo, "wild": wild})
    async with Client(served(fleet)) as client:
        result = await client.call_tool("run_agent", {"name": "echo", "task": "hello"})
        assert not result.is_error
        assert "again: hello" in text(result)
        assert "data to be judged" in text(result)
    assert [record.message for record in fleet.records] == ["again: hello"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("run_agent", {"name": "wild", "task": "x"}, "no luck"),
        ("run_agent", {"name": "nobody", "task": "x"}, "No agent is named 'nobody'"),
        ("run_agent", {"name": "echo"}, "needs a text for task"),
        ("run_agent", {"name": 3, "task": None}, "needs a text for name and task"),
        ("run_agents", {}, "there are run_agent and list_agents"),
    ],
)
async def test_whatever_goes_wrong_is_an_error_that_the_client_reads(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with Client(served(FakeFleet({"echo": echo, "wild": wild}))) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert said in text(result)


async def test_hand_offs_wait_until_the_fleet_is_ready() -> None:
    ready: asyncio.Future[FakeFleet] = asyncio.get_running_loop().create_future()
    async with Client(mcp_server("fleet", CHILDREN, lambda: ready)) as client:
        asked = asyncio.create_task(client.call_tool("run_agent", {"name": "echo", "task": "hello"}))
        assert len((await client.list_tools()).tools) == 2
        assert not asked.done()
        ready.set_result(FakeFleet({"echo": echo}))
        assert "again: hello" in text(await asked)


def test_a_wrong_fleet_file_is_said_before_anything_is_started(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", str(tmp_path / "none.yaml")]) == ExitCode.USAGE
    told = capfd.readouterr()
    assert told.out == ""
    assert "none.yaml" in told.err


@pytest.mark.timeout(200)
async def test_the_command_serves_a_fleet_on_ray_and_ends_with_its_client(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    fleet = tmp_path / "configs" / "fleet.yaml"
    fleet.write_text(
        "version: 1\nname: mcp-test\nentry: echo\nchildren:\n"
        "  - {name: echo, description: says it again, build: 'actors.echo:build'}\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_ADDRESS": ""}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "symfonic_ray.cli", "mcp", str(fleet)], env=environment, cwd=ROOT
    )
    async with asyncio.timeout(180), Client(parameters) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["run_agent", "list_agents"]
        result = await client.call_tool("run_agent", {"name": "echo", "task": "hello"})
        assert not result.is_error
        assert "hello" in text(result)
