"""What was found wrong in one file so far, and on which line. Decides no rule: the checks report here.

One value gets one problem: whoever reports first is nearest to the cause, and a later check on the same value, or on
something inside it, would only repeat it. The value of an environment reference never stands in a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from symfonic_ray.config.errors import ConfigError, ConfigProblem
from symfonic_ray.kernel.redaction import redacted

KeyPath: TypeAlias = tuple[str | int, ...]


def key_text(path: KeyPath) -> str:
    """``path`` as a reader writes it, such as ``children[0].build``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "file"


class Findings:
    """The problems of one file."""

    def __init__(self, file: str, lines: Mapping[KeyPath, int], references: Mapping[str, str]) -> None:
        """
        Args:
            file: the file's name for the reader.
            lines: 1-based line of every value; may grow while the file is read.
            references: value of an environment variable to the reference that named it; may grow likewise.
        """
        self._file, self._lines, self._references = file, lines, references
        self._found: dict[KeyPath, ConfigProblem] = {}

    def report(self, path: KeyPath, problem: str, remedy: str, *, line: int | None = None) -> None:
        """Note a problem of the value at ``path``, unless it or a value around it has one already."""
        if self.blames(path):
            return
        self._found[path] = ConfigProblem(
            file=self._file,
            line=self._line(path) if line is None else line,
            key=self._redacted(key_text(path)),
            problem=self._redacted(problem),
            remedy=self._redacted(remedy),
        )

    def blames(self, path: KeyPath) -> bool:
        """Whether the value at ``path``, or one that holds it, has a problem already; the whole file does not count."""
        return any(path[:length] in self._found for length in range(1, len(path) + 1))

    def raise_if_any(self) -> None:
        """
        Raises:
            ConfigError: with all problems in the order of the file, if there are any.
        """
        if self._found:
            raise ConfigError(tuple(sorted(self._found.values(), key=lambda problem: problem.line)))

    def _line(self, path: KeyPath) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _redacted(self, text: str) -> str:
        return redacted(text, self._references)
