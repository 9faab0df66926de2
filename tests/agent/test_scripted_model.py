"""The scripted model that users' tests stand on."""

from __future__ import annotations

import pytest

from symfonic_ray.agent import Agent
from symfonic_ray.testing import ScriptedModel, ScriptedReply, asking


async def test_the_script_is_said_in_order_and_its_last_line_stands() -> None:
    model = ScriptedModel("a", "b")
    assert [(await model.ainvoke([turn])).content for turn in range(4)] == ["a", "b", "b", "b"]
    assert model.sent == [(0,), (1,), (2,), (3,)]


async def test_an_error_of_the_script_is_raised() -> None:
    with pytest.raises(OSError, match="off"):
        await ScriptedModel(OSError("off")).ainvoke([])


async def test_a_function_of_the_script_sees_the_messages() -> None:
    assert (await ScriptedModel(lambda messages: f"{len(messages)}").ainvoke([1, 2])).content == "2"


async def test_a_streamed_reply_comes_to_the_whole_one() -> None:
    model = ScriptedModel(asking(("echo", {"value": 1}), text="two words\nand a line", input_tokens=4, output_tokens=2))
    whole = ScriptedReply()
    pieces = [piece async for piece in model.astream([])]
    for piece in pieces:
        whole += piece
    assert whole == await model.ainvoke([])
    assert len(pieces) == 6


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        ScriptedModel()


async def test_a_script_may_be_one_line_of_text() -> None:
    def add(left: int, right: int) -> int:
        return left + right

    script = '[[{"name": "add", "args": {"left": 1, "right": 2}}], "three"]'
    response = await Agent(ScriptedModel.from_text(script), [add]).run("go")
    assert [outcome.value for outcome in response.report.outcomes] == [3]
    assert response.final_response == "three"
    assert (await ScriptedModel.from_text("Hello there").ainvoke([])).content == "Hello there"


@pytest.mark.parametrize("text", ["[", "[7]", "[]", "[[1]]"])
def test_a_script_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ScriptedModel.from_text(text)
