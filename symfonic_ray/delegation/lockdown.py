"""Whether a child may be handed work at all: no delegated child holds a prompt-block write surface.

Reads palettes and configs structurally; refuses to know who built the agent, and never calls a tool.
A probe that raises, or that answers with something that cannot be iterated, finds nothing.
"""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from symfonic_ray.delegation.errors import ChildLockdownError, UnsanitisableChildConfigError
from symfonic_ray.kernel.text import is_invisible

Agent = TypeVar("Agent")

SELF_EDIT_FIELD = "prompt_block_self_edit"
WRITE_SURFACE_NAMESPACE = "memory_block_"
WRITE_SURFACE_TOOL_NAMES = frozenset({"memory_block_append", "memory_block_replace", "memory_block_rewrite"})
"""The tools known today, for readers; the check covers the whole namespace and the verbs."""

_WRITE_PREFIXES = (
    WRITE_SURFACE_NAMESPACE,
    "block_edit",
    "edit_block",
    "write_block",
    "update_block",
    "append_block",
    "replace_block",
    "rewrite_block",
)
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})  # instances of these show no attribute of ours
_PROVIDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class SeeThrough:
    """A wrapper of ours: the lockdown reads the agent inside as if the wrapper were not there."""

    agent: Any


def is_write_surface_tool_name(name: object) -> bool:
    """Whether ``name`` is a prompt-block write tool in any disguise; False for what is not a string."""
    if not isinstance(name, str):
        return False
    if not _PROVIDER_NAME.fullmatch(name):
        name = "".join(c for c in unicodedata.normalize("NFKC", name) if not is_invisible(c)).strip()
    return name.casefold().startswith(_WRITE_PREFIXES)


def wants_block_self_edit(config: object) -> bool:
    """Whether ``config`` asks for self-edit: by ``True`` itself, since a mock answers every attribute."""
    return _attribute(config, SELF_EDIT_FIELD) is True


def deny_child_self_edit(config: Any, child: str = "") -> Any:  # Any: configs are foreign
    """``config`` without self-edit: the same object when it never asked, else a copy with the flag cleared.

    Raises:
        UnsanitisableChildConfigError: if it asked and has no working ``model_copy``.
    """
    if not wants_block_self_edit(config):
        return config
    try:
        cleared = config.model_copy(update={SELF_EDIT_FIELD: False})
    except Exception as error:
        raise _unsanitisable(child, config) from error
    if _attribute(cleared, SELF_EDIT_FIELD) is not False:
        raise _unsanitisable(child, config)
    return cleared


def registered_write_surface_tools(agent: object) -> tuple[str, ...]:
    """The write-surface names in the palette that the model will be offered, each once, as they are spelled."""
    return tuple(name for name in palette_names(agent) if is_write_surface_tool_name(name))


def palette_names(agent: object) -> tuple[str, ...]:
    """Every tool name that ``agent`` shows, itself or through one level of wrapping, each once."""
    return tuple(dict.fromkeys(name for part in _parts(agent) for name in _names(part)))


def assert_no_write_surface(name: str, agent: Agent) -> Agent:
    """``agent``, if it may be delegated to.

    Raises:
        ChildLockdownError: if its palette holds a write surface or a name that no provider accepts, or if its
            config asks for self-edit; says what to do.
    """
    if _is_bare(agent):
        return agent
    for part in _parts(agent):
        if wants_block_self_edit(_attribute(part, "_config")) or wants_block_self_edit(_attribute(part, "config")):
            raise ChildLockdownError(
                name, f"its config sets {SELF_EDIT_FIELD}; build it with {SELF_EDIT_FIELD}=False before handing it over"
            )
    palette = palette_names(agent)
    written = tuple(tool for tool in palette if is_write_surface_tool_name(tool))
    if written:
        raise ChildLockdownError(
            name,
            f"holds {_listed(written)}, which write prompt blocks; remove these tools from its palette: "
            "no delegated child may edit prompts",
            written,
        )
    refused = tuple(tool for tool in palette if not _PROVIDER_NAME.fullmatch(tool))
    if refused:
        raise ChildLockdownError(
            name,
            f"holds tools named {_listed(refused)}; rename them with 1 to 64 of the characters A-Z a-z 0-9 _ -, "
            "the only ones that providers accept",
            refused,
        )
    return agent


def _parts(agent: object) -> Iterator[object]:
    """The agent and what it wraps, one level down."""
    inner = _unwrapped(agent)
    yield inner
    try:
        held = list(vars(inner).values())
    except TypeError:
        return
    for value in held:
        if type(value) not in _PLAIN:
            yield _unwrapped(value)


def _is_bare(agent: object) -> bool:
    """Whether neither an agent nor what it wraps has any attribute that is looked into: the quick answer, asked
    before every run, for most agents."""
    inner = _unwrapped(agent) if isinstance(agent, SeeThrough) else agent
    if not _shows_nothing(inner):
        return False
    held = getattr(inner, "__dict__", None)
    if not held:
        return True
    return all(type(value) in _PLAIN or _shows_nothing(_unwrapped(value)) for value in tuple(held.values()))


def _shows_nothing(part: object) -> bool:
    try:
        return (
            getattr(part, "tools", None) is None
            and getattr(part, "palette", None) is None
            and getattr(part, "_graph", None) is None
            and getattr(part, "config", None) is None
            and getattr(part, "_config", None) is None
        )
    except Exception:
        return False


def _unwrapped(value: object) -> object:
    while isinstance(value, SeeThrough):
        value = value.agent
    return value


def _names(agent: object) -> Iterator[str]:
    palette = _attribute(agent, "palette")
    all_tools = _attribute(_attribute(_attribute(agent, "_graph"), "registry"), "all_tools")
    for tools in (_attribute(agent, "tools"), _called(palette) if callable(palette) else palette, _called(all_tools)):
        yield from _names_in(tools)


def _names_in(tools: object) -> list[str]:
    """The names in one palette: of strings, named objects, functions, schemas, or mapping keys."""
    found: list[str] = []
    try:
        if isinstance(tools, Mapping):
            for key, tool in tools.items():
                found.extend(_first_text(None if isinstance(tool, str) else _name(tool), key))
        elif isinstance(tools, Iterable) and not isinstance(tools, (str, bytes)):
            for tool in tools:
                found.extend(_first_text(_name(tool)))
    except Exception:
        return found
    return found


def _name(tool: object) -> object:
    if isinstance(tool, str):
        return tool
    if isinstance(tool, Mapping):
        function = tool.get("function")
        return tool.get("name") or (function.get("name") if isinstance(function, Mapping) else None)
    name = _attribute(tool, "name")
    return name if isinstance(name, str) else _attribute(tool, "__name__")


def _first_text(*candidates: object) -> tuple[str, ...]:
    return next(((text,) for text in candidates if isinstance(text, str)), ())


def _called(probe: object) -> object:
    if not callable(probe):
        return None
    try:
        answer = probe()
    except Exception:
        return None
    if inspect.iscoroutine(answer):
        answer.close()  # nobody will await it, and leaving it open warns
    return answer


def _attribute(value: object, name: str) -> Any:  # Any: whatever a foreign object answers
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _unsanitisable(child: str, config: object) -> UnsanitisableChildConfigError:
    return UnsanitisableChildConfigError(
        child,
        f"its {type(config).__name__} sets {SELF_EDIT_FIELD} and cannot be copied with it cleared; "
        f"give a config with {SELF_EDIT_FIELD}=False or a working model_copy(update=...)",
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name.strip())[:80] for name in names[:8])
