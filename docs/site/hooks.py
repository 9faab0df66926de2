"""What the site has besides its pages: an order of the pages, and the commands' own help. Decides no words."""

from __future__ import annotations

from typing import Any

import typer.main

from symfonic_ray.cli import PROGRAM, app

FIRST = ("index.md", "quick-start.md", "concepts.md")
FOLDERS = {"how-to": "How to", "deploy": "Deployment", "reference": "Reference", "decisions": "Decisions"}
HELP_GOES_HERE = "<!-- the commands -->"


def on_files(files: Any, config: Any) -> Any:  # Any: mkdocs' own types, not needed to run our tests
    """Put every page into the navigation, the first steps first; a new page needs no entry."""
    paths = sorted(file.src_uri for file in files.documentation_pages())
    alone = [path for path in paths if "/" not in path and path not in FIRST]
    folders = [{title: [path for path in paths if path.startswith(f"{folder}/")]} for folder, title in FOLDERS.items()]
    config.nav = [*(path for path in FIRST if path in paths), *folders, *alone]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the help of every command where the page asks for it."""
    return markdown.replace(HELP_GOES_HERE, command_line(typer.main.get_command(app), PROGRAM))


def command_line(command: Any, name: str, level: int = 2) -> str:
    """The help of a command and of those below it, each under a heading; a hidden one is left out."""
    info = {"help_option_names": ["-h", "--help"], "terminal_width": 100, "max_content_width": 100}
    context = command.context_class(command, info_name=name, **info)
    parts = [f"{'#' * level} `{name}`\n\n```text\n{command.get_help(context).strip()}\n```\n"]
    parts.extend(
        command_line(below, f"{name} {word}", level + 1)
        for word, below in getattr(command, "commands", {}).items()
        if not below.hidden
    )
    return "\n".join(parts)
