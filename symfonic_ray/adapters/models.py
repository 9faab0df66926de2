"""Which model a name stands for. Makes it; asks it nothing.

``openai:NAME``, ``langchain:package.module:factory``, ``local``, ``scripted:TEXT``.
"""

from __future__ import annotations

from symfonic_ray.adapters.errors import UnknownModelError
from symfonic_ray.adapters.import_string import imported
from symfonic_ray.agent import ChatModel
from symfonic_ray.testing import ScriptedModel

KINDS = "openai:NAME, langchain:package.module:factory, local, or scripted:TEXT"


def model_from(name: str) -> ChatModel:
    """The model that ``name`` stands for; whoever asked for it closes it, where it has an ``aclose``.

    Raises:
        UnknownModelError: for any other name, and for a factory that gives no chat model.
        NotImportableError: for a factory that cannot be had.
        MissingLibraryError: when a library is missing; says what to install.
        MissingKeyError: when the environment holds no key.
    """
    kind, colon, rest = name.partition(":")
    if name == "local":
        from symfonic_ray.adapters.local_model import LocalModel

        return LocalModel()
    if kind == "openai" and rest:
        from symfonic_ray.adapters.openai_model import OpenAIModel

        return OpenAIModel(rest)
    if kind == "langchain" and rest:
        return _made_by(name, rest)
    if kind == "scripted" and colon:
        try:
            return ScriptedModel.from_text(rest)
        except ValueError as error:
            raise UnknownModelError(
                name, f"has a script that cannot be read ({error})", "correct the script"
            ) from error
    if name == "extractive":
        raise UnknownModelError(name, "is no language model: it quotes", f"name one of {KINDS}")
    raise UnknownModelError(name, "is not known", f"name one of {KINDS}")


def _made_by(name: str, factory_name: str) -> ChatModel:
    factory = imported(factory_name)
    if not callable(factory):
        raise UnknownModelError(name, f"names a {type(factory).__name__}", "name a function that makes the model")
    model: ChatModel = factory()
    if not callable(getattr(model, "ainvoke", None)):
        raise UnknownModelError(
            name, f"gave a {type(model).__name__}, which has no ainvoke", "make the factory return a chat model"
        )
    return model
