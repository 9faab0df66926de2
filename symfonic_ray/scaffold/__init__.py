"""The files of a new project, as ``symfonic-ray init`` writes them. Holds texts, writes nothing.

Each is a file in ``project/`` whose name ends in ``.tmpl``, so that no tool takes it for a part of this package;
``@NAME@`` in it stands for the project's name, ``@VERSION@`` for this package's version.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

_SUFFIX = ".tmpl"


def project_files(name: str, version: str) -> dict[str, str]:
    """The text of every file of a new project.

    Args:
        name: of the project.
        version: of this package.
    Returns:
        Text by path, which is relative to the project's folder and has forward slashes; in order.
    """
    found = dict(_texts(files(__name__) / "project", ""))
    return {path: text.replace("@NAME@", name).replace("@VERSION@", version) for path, text in sorted(found.items())}


def _texts(folder: Traversable, below: str) -> list[tuple[str, str]]:
    texts = []
    for entry in folder.iterdir():
        if entry.is_dir():
            texts.extend(_texts(entry, f"{below}{entry.name}/"))
        elif entry.name.endswith(_SUFFIX):
            texts.append((below + entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")))
    return texts
