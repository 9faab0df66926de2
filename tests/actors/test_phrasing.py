"""The readers' answer in a model's words: signed, above the quotations, and never in their place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actors import assistant, coordinator, reader
from actors.answer import LABEL
from actors.coordinator import CoordinatorAnswer
from symfonic_ray.adapters.errors import ModelUnreachableError, UnknownModelError
from symfonic_ray.delegation import serving
from symfonic_ray.testing import FakeFleet
from tests.actors.fleets import read

QUESTION = "When is the dome open?"
QUOTE = "a.md:1: The dome is open on Friday."
HERE = __name__


class Recording:
    """A model that keeps what it is sent, and says or raises what the class is told."""

    model_name = "recording"
    sent: Sequence[Any] = ()
    says: Any = "On Friday, so the notes."
    closed = 0

    async def ainvoke(self, messages: Sequence[Any]) -> Any:
        type(self).sent = messages
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    async def aclose(self) -> None:
        type(self).closed += 1


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "sent", ())
    monkeypatch.setattr(Recording, "closed", 0)


async def ask(folder: Path, question: str, model: str | None) -> CoordinatorAnswer:
    parent = coordinator.build("test", model=model)
    with serving(FakeFleet({"reader": read})):
        answer = await parent.run(json.dumps({"question": question, "input": str(folder)}))
    await parent.aclose()
    return answer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("The dome is open on Friday.\n")
    return tmp_path


async def test_a_model_phrases_the_quotations_and_is_named(folder: Path) -> None:
    answer = await ask(folder, QUESTION, f"langchain:{HERE}:Recording")
    assert answer.final_response.splitlines() == [
        "On Friday, so the notes.",
        f"(written by the language model langchain:{HERE}:Recording (recording) from the quotations below)",
        "",
        QUOTE,
    ]
    assert [quote.text for quote in answer.quotes] == ["The dome is open on Friday."]
    system, user = Recording.sent
    assert "only" in system["content"]
    assert user["content"] == f"Question: {QUESTION}\n\nQuotations:\n- The dome is open on Friday."
    assert Recording.closed == 1


@pytest.mark.parametrize(
    ("says", "why"), [(ModelUnreachableError("m", "is gone"), "ModelUnreachableError"), ("  ", "wrote nothing")]
)
async def test_a_model_that_writes_nothing_leaves_the_quotations_and_a_note(
    folder: Path, says: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recording, "says", says)
    answer = await ask(folder, QUESTION, f"langchain:{HERE}:Recording")
    assert answer.final_response.startswith(f"{QUOTE}\n\n{LABEL}")
    assert why in answer.final_response
    assert len(answer.notes) == 1


async def test_a_model_is_not_asked_where_there_is_nothing_to_quote(folder: Path) -> None:
    answer = await ask(folder, "What is the capital of France?", f"langchain:{HERE}:Recording")
    assert (answer.quotes, Recording.sent) == ((), ())


@pytest.mark.parametrize("model", [None, "extractive"])
async def test_without_a_model_the_quotations_stand_alone(folder: Path, model: str | None) -> None:
    assert (await ask(folder, QUESTION, model)).final_response == f"{QUOTE}\n\n{LABEL}"


def test_a_model_that_there_is_not_is_refused_when_the_parent_is_built() -> None:
    for build in (coordinator.build, assistant.build):
        with pytest.raises(UnknownModelError):
            build("test", model="nonsense")


async def test_an_assistant_asks_its_model_in_words_and_signs_the_answer() -> None:
    parent = assistant.build("test", model=f"langchain:{HERE}:Recording")
    answer = await parent.run(json.dumps({"question": QUESTION, "input": "/notes"}))
    await parent.aclose()
    assert answer.final_response == (
        f"On Friday, so the notes.\n\nwritten by the language model langchain:{HERE}:Recording (recording): answered"
    )
    assert Recording.sent[-1]["content"] == f'{QUESTION}\n\nThe question is about the files in "/notes".'
    assert Recording.closed == 1


@pytest.mark.parametrize("task", ["plain words", "[1]", '{"other": 1}'])
async def test_an_assistant_takes_any_other_text_as_it_is(task: str) -> None:
    await assistant.build("test", model=f"langchain:{HERE}:Recording").run(task)
    assert Recording.sent[-1]["content"] == task


async def test_an_assistant_without_an_answer_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "says", "")
    answer = await assistant.build("test", model=f"langchain:{HERE}:Recording").run("x")
    assert answer.final_response == ""
    assert "no_final_response" in answer.error


def test_a_reader_takes_no_model() -> None:
    with pytest.raises(TypeError):
        reader.build("test", model="local")  # type: ignore[call-arg]  # the point of the test
