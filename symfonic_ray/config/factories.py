"""What a fleet file gives to the factories that it names: their options, and the fleet's model. Calls none of them.

A factory is called with the scope and its options as keywords. One that has a parameter ``model``, and no option of
that name, is given the fleet's model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from symfonic_ray.config.findings import Findings, KeyPath
from symfonic_ray.config.import_strings import ImportStringError, resolve

MODEL = "model"


def given_to(text: str, options: Mapping[str, Any], model: str | None) -> dict[str, Any]:
    """The keywords for the factory that ``text`` names; ``options`` are JSON values."""
    if model is None or MODEL in options or MODEL not in _keywords(resolve(text)):
        return dict(options)
    return {**options, MODEL: model}


def bound(text: str, given: Mapping[str, Any]) -> str | Callable[..., Any]:
    """The factory that ``text`` names with its keywords; the text itself where there are none."""
    return partial(resolve(text), **given) if given else text


def check_options(data: dict[str, Any], model: str | None, findings: Findings) -> None:
    """Options fit the factories, and the fleet's model has a factory that takes it."""
    untold = model is not None
    for text_path, options_path, text, options in _factories(data):
        if findings.blames(text_path) or findings.blames(options_path):
            continue
        try:
            factory = resolve(text)
        except ImportStringError:
            continue
        keywords, given = _keywords(factory), given_to(text, options, model)
        untold = untold and not (MODEL in given and MODEL not in options)
        if not keywords and not given:
            continue  # that it takes a scope is seen when it is built
        try:
            inspect.signature(factory).bind(None, **given)
        except TypeError as error:
            takes = f"it takes {', '.join(keywords)}" if keywords else "it takes none but the scope"
            findings.report(options_path, f"do not fit {text} ({error})", takes)
        except ValueError:
            continue  # a factory that says nothing of its parameters
    if untold:
        problem = f"is {model!r}, which neither the parent nor a child takes"
        findings.report((MODEL,), problem, "name a factory with a parameter called model, or leave it out")


def _factories(data: dict[str, Any]) -> Iterator[tuple[KeyPath, KeyPath, str, Mapping[str, Any]]]:
    """Each factory's import string and options, with the paths of both."""
    parent, options = data.get("parent"), data.get("parent_options", {})
    if isinstance(parent, str) and isinstance(options, dict):
        yield ("parent",), ("parent_options",), parent, options
    entries = data.get("children")
    for index, child in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(child, dict):
            build, options = child.get("build"), child.get("options", {})
            if isinstance(build, str) and isinstance(options, dict):
                yield ("children", index, "build"), ("children", index, "options"), build, options


def _keywords(factory: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that can be given by keyword, without the scope, which comes first."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except ValueError:
        return ()
    able = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(parameter.name for parameter in parameters[1:] if parameter.kind in able)
