"""What ``package.module:attribute`` stands for, where a model or a tool is named so. Imports it; calls nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symfonic_ray.adapters.errors import NotImportableError
from symfonic_ray.kernel.text import failure_line


def imported(text: str) -> Any:
    """The attribute that ``text`` names. Any: it is the user's own.

    Args:
        text: ``package.module:attribute``; the attribute may have dots.
    Raises:
        NotImportableError: when the text has another form, or the module or the attribute cannot be had.
    """
    module_name, _, attributes = text.partition(":")
    if not module_name or not attributes:
        raise NotImportableError(text, "does not say where it is defined", "write package.module:attribute")
    try:
        found: Any = import_module(module_name)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (Exception, SystemExit) as error:  # the module is the user's own and may raise anything
        remedy = "correct the module or the name"
        raise NotImportableError(text, f"cannot be imported ({failure_line(error)})", remedy) from error
    return found
