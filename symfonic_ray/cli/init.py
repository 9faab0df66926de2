"""``symfonic-ray init``: a new project in its own folder. Decides name and place; the texts are the scaffold's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import AsJson
from symfonic_ray.cli.streams import Results, results, say

_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")  # it becomes the fleet's, in process titles
_STEPS = (
    "python -m pip install pytest",
    "python -m pytest",
    'symfonic-ray run configs/fleet.yaml --ask "When is the greenhouse watered?" --input notes',
)


def init(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Of the project, its fleet and its folder, such as my-fleet.")
    ],
    as_json: AsJson = False,
) -> None:
    """Start a project: a parent, a child, a fleet file and tests that pass.

    Writes the folder NAME below the current one. A folder that holds anything is left as it is.

    \b
    Example:
      symfonic-ray init my-fleet
      cd my-fleet
      python -m pytest
    """
    from symfonic_ray import __version__
    from symfonic_ray.scaffold import project_files

    with results() as out:
        if not _NAME.fullmatch(name):
            problem = f"{name!r} is no name for a project"
            remedy = "use up to 64 letters, digits, - and _, a letter first and no sign last"
            raise _refused(out, as_json, ExitCode.USAGE, name, problem, remedy)
        folder = Path(name)
        if os.path.lexists(folder) and not folder.is_dir():
            raise _refused(out, as_json, ExitCode.USAGE, name, f"{name} is there and is no folder", "use another name")
        texts = project_files(name, __version__)
        try:
            if folder.is_dir() and any(folder.iterdir()):
                remedy = "use another name, or empty it first"
                raise _refused(out, as_json, ExitCode.USAGE, name, f"the folder {name} is not empty", remedy)
            _write(folder, texts)
        except OSError as error:
            problem = f"{error.filename} could not be written ({error.strerror})"
            remedy = f"make that possible, remove the folder {name}, and try again"
            raise _refused(out, as_json, ExitCode.FAILED, name, problem, remedy) from None
        steps = (f"cd {name}", *_STEPS)
        if as_json:
            told = {"schema_version": 1, "outcome": "ok", "problems": [], "name": name, "folder": str(folder.resolve())}
            out.object({**told, "files": list(texts), "next": list(steps)})
        else:
            out.text(f"wrote {len(texts)} files to {folder}/; next:\n" + "\n".join(f"  {step}" for step in steps))


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _refused(out: Results, as_json: bool, code: ExitCode, name: str, problem: str, remedy: str) -> typer.Exit:
    """Tell what is in the way, as ``validate`` tells it; gives what the command is left with."""
    if as_json:
        row = {"file": name, "line": 1, "key": "NAME", "problem": problem, "remedy": remedy}
        outcome = "invalid" if code is ExitCode.USAGE else "failed"
        out.object({"schema_version": 1, "outcome": outcome, "problems": [row]})
    else:
        say(f"{problem}; {remedy}")
    return typer.Exit(code)
