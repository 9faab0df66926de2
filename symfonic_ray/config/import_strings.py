"""What ``package.module:attribute`` stands for. Imports what it is asked for; calls nothing of it, knows no fleet."""

from __future__ import annotations

import difflib
import importlib
import keyword
import pkgutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from symfonic_ray.kernel.text import failure_line

ACTORS_FOLDER = "actors"


class ImportStringError(ValueError):
    """An import string that gives no factory: what was asked, what is wrong, what to do."""

    def __init__(self, text: str, problem: str, remedy: str) -> None:
        super().__init__(text, problem, remedy)
        self.text, self.problem, self.remedy = text, problem, remedy

    def __str__(self) -> str:
        return f"{self.text!r} {self.problem}; {self.remedy}"


def project_root(fleet_file: Path, current_folder: Path) -> Path:
    """The nearest folder above ``fleet_file`` that holds ``actors/``, else ``current_folder``."""
    for folder in fleet_file.absolute().parents:
        if (folder / ACTORS_FOLDER).is_dir():
            return folder
    return current_folder.absolute()


def make_importable(root: Path) -> None:
    """Put ``root`` first on this process's import path; once, however often it is asked."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    importlib.invalidate_caches()


def resolve(text: str) -> Callable[..., Any]:
    """The factory that ``text`` names.

    Args:
        text: ``package.module:attribute``; the attribute may have dots.
    Raises:
        ImportStringError: when the text has another form, the module is not found or fails while it is imported,
            the attribute is missing, or what is found cannot be called.
    """
    module_name, _, attributes = text.partition(":")
    if not _dotted(module_name) or not _dotted(attributes):
        raise ImportStringError(
            text, "is not of the form package.module:attribute", "write it like actors.reader:build"
        )
    found = _module(text, module_name)
    for name in attributes.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            remedy = f"{_nearest(name, vars(found) if hasattr(found, '__dict__') else ())}define it or name another"
            raise ImportStringError(text, f"names {name!r}, which {module_name} does not have", remedy) from error
    if not callable(found):
        kind = type(found).__name__
        raise ImportStringError(text, f"is a {kind}, which cannot be called", "name a function build(scope)")
    return found  # type: ignore[no-any-return]  # what a foreign module holds is Any


def _module(text: str, module_name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if missing != module_name and not module_name.startswith(f"{missing}."):
            problem = f"needs the module {missing!r}, which is not installed"
            raise ImportStringError(text, problem, f"install {missing.partition('.')[0]} or name another") from error
        remedy = f"{_nearest(missing, _modules_beside(missing))}create it or name another"
        raise ImportStringError(text, f"names the module {missing!r}, which is not found", remedy) from error
    except (Exception, SystemExit) as error:
        problem = f"cannot be imported ({failure_line(error)})"
        raise ImportStringError(text, problem, "correct the module") from error


def _dotted(text: str) -> bool:
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


def _modules_beside(missing: str) -> list[str]:
    package, _, _ = missing.rpartition(".")
    paths = getattr(sys.modules.get(package), "__path__", None) if package else [sys.path[0]]
    prefix = f"{package}." if package else ""
    return [module.name for module in pkgutil.iter_modules(paths or [], prefix)]


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? else " if near else ""
