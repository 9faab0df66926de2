"""A YAML file as plain data with the line of every value. Knows YAML and the environment, and no fleet.

Only the plain part of YAML is read: mappings with text keys, lists, text, numbers, true, false, null. Nothing that a
file says builds a Python object.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from symfonic_ray.config.errors import ConfigError, ConfigProblem
from symfonic_ray.config.findings import Findings, KeyPath
from symfonic_ray.kernel.text import collapsed

MAX_BYTES = 1_048_576
MAX_VALUES = 20_000  # aliases of aliases unfold to millions of values from a few lines
MAX_NESTING = 32

_TAG = "tag:yaml.org,2002:"
_READ_BY_YAML = frozenset(_TAG + kind for kind in ("int", "float", "bool", "null"))
_READ_AS_TEXT = frozenset(_TAG + kind for kind in ("str", "timestamp", "value", "merge"))
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file that could be read, with what was found wrong in it so far."""

    data: Any
    """Mappings, lists, text, finite numbers, booleans, None; Any because the file decides."""
    findings: Findings
    """Where further checks report."""


def read_document(path: Path, environment: Mapping[str, str]) -> Document:
    """The data of ``path``, with ``${NAME}`` in text replaced from ``environment``.

    Raises:
        ConfigError: when there is nothing to check: no such file, a folder, too large, not UTF-8, not YAML, empty.
    """
    text = _text(path)
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise _unusable(path, 1, "is empty", "write version, name, parent or entry, and children")
        reader = _Reader(str(path), loader, environment)
        return Document(data=reader.value(node, (), 0), findings=reader.findings)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _unusable(path, line, f"is not YAML: {what}", "correct the text at this line") from error
    except RecursionError as error:
        raise _unusable(path, 1, "is nested too deeply to be read", f"use at most {MAX_NESTING} levels") from error
    finally:
        loader.dispose()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise _unusable(path, 1, "does not exist", "give the path of a fleet file") from error
    except IsADirectoryError as error:
        raise _unusable(path, 1, "is a folder", "give the path of a fleet file inside it") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        words = getattr(error, "strerror", None) or str(error)
        raise _unusable(path, 1, f"cannot be read ({words})", "give the path of a readable fleet file") from error
    if len(raw) > MAX_BYTES:
        raise _unusable(path, 1, f"is larger than {MAX_BYTES} bytes", "split it: a fleet file is short")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise _unusable(path, line, "is not UTF-8 text", "save the file as UTF-8") from error
    odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if odd is not None:
        line = text.count("\n", 0, odd.start()) + 1
        raise _unusable(
            path, line, f"holds the character U+{ord(odd.group()):04X}", "remove it or write it as an escape"
        )
    return text


def _unusable(path: Path, line: int, problem: str, remedy: str) -> ConfigError:
    return ConfigError((ConfigProblem(file=str(path), line=line, key="file", problem=problem, remedy=remedy),))


class _Reader:
    """Walks the nodes of one file."""

    def __init__(self, file: str, loader: yaml.SafeLoader, environment: Mapping[str, str]) -> None:
        self._loader, self._environment = loader, environment
        self._lines: dict[KeyPath, int] = {}
        self._references: dict[str, str] = {}
        self._visited = 0
        self.findings = Findings(file, self._lines, self._references)

    def value(self, node: yaml.Node, path: KeyPath, depth: int) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        self._visited += 1
        if depth > MAX_NESTING or self._visited > MAX_VALUES:
            self.findings.report(
                path[:1], "unfolds to too much", f"use at most {MAX_NESTING} levels and {MAX_VALUES} values"
            )
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in _READ_AS_TEXT:
                shown = collapsed(str(key_node.value))[:40] if isinstance(key_node, yaml.ScalarNode) else "?"
                self.findings.report((*path, shown), "is a key that is not text", "put it in quotes", line=line)
                continue
            key = key_node.value
            if key in first_lines:
                first = first_lines[key]
                self.findings.report(
                    (*path, key), f"is given twice (first on line {first})", "keep one of the two", line=line
                )
                continue
            first_lines[key] = self._lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key), depth + 1)
        return result

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.tag in _READ_AS_TEXT:
            return self._expanded(str(node.value), path)
        if node.tag not in _READ_BY_YAML:
            self.findings.report(path, f"has the tag {node.tag}", "use plain text, numbers, lists and mappings")
            return None
        try:
            value = self._loader.construct_object(node)
        except (ValueError, yaml.YAMLError):
            self.findings.report(path, "cannot be read as a number", "put it in quotes or correct it")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.findings.report(path, "is not a finite number", "give a finite number")
            return None
        return value

    def _expanded(self, text: str, path: KeyPath) -> str:
        if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
            self.findings.report(path, "holds half of a surrogate pair", "write the character itself")
            return ""

        def replaced(match: re.Match[str]) -> str:
            name = match.group(1)
            found = self._environment.get(name)
            if found is None:
                self.findings.report(
                    path, f"names the environment variable {name}, which is not set", "set it before the command"
                )
                return match.group()
            self._references[found] = match.group()
            return found

        return _REFERENCE.sub(replaced, text)
