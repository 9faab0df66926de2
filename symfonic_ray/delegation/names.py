"""What a child may be called and how it is described to a model. Knows no child."""

from __future__ import annotations

from symfonic_ray.delegation.errors import ChildDeclarationError
from symfonic_ray.delegation.lockdown import is_write_surface_tool_name
from symfonic_ray.delegation.values import shown
from symfonic_ray.kernel.text import code_point, collapsed, is_invisible

NAME_CHARACTERS = 64
DESCRIPTION_CHARACTERS = 512
RUN_AGENT, LIST_AGENTS = "run_agent", "list_agents"


def check_child_name(name: object) -> None:
    """Refuse a name that a model could not type literally, or that another tool bears.

    Raises:
        ChildDeclarationError: naming the code point where there is one to name.
    """
    label = shown(name) if type(name) is not str else name
    if type(name) is not str:
        raise ChildDeclarationError(label, f"its name is a {type(name).__name__}; give a plain string")
    if not name.strip():
        raise ChildDeclarationError(label, "its name is blank; give it one that a model can type")
    if len(name) > NAME_CHARACTERS:
        raise ChildDeclarationError(
            label, f"its name has {len(name)} characters; at most {NAME_CHARACTERS} are allowed"
        )
    for character in name:
        if character.isspace() or is_invisible(character) or 0xD800 <= ord(character) <= 0xDFFF:
            raise ChildDeclarationError(
                label,
                f"its name holds {code_point(character)}; names are matched literally, so use visible characters only",
            )
    if name in (RUN_AGENT, LIST_AGENTS) or is_write_surface_tool_name(name):
        raise ChildDeclarationError(label, "its name is reserved for a tool; give it another")


def described(text: str) -> str:
    """``text`` as it may stand in a roster line: one line, at most 512 characters."""
    line = collapsed(text)
    return line if len(line) <= DESCRIPTION_CHARACTERS else line[: DESCRIPTION_CHARACTERS - 3].rstrip() + "..."
