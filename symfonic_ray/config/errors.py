"""What is wrong with a config file, as one line a person can act on. Knows no YAML, no model, no command."""

from __future__ import annotations

from dataclasses import dataclass

from symfonic_ray.kernel.text import clipped, collapsed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One thing that must be put right."""

    file: str
    """The file as it was named by the caller."""
    line: int
    """1-based; 1 where the file as a whole is meant."""
    key: str
    """Where in the file, such as ``children[0].build``; ``file`` for the whole."""
    problem: str
    """What is wrong."""
    remedy: str
    """What to do."""

    def __str__(self) -> str:
        return clipped(collapsed(f"{self.file}:{self.line}: {self.key}: {self.problem}; {self.remedy}"))


class ConfigError(ValueError):
    """A config file that cannot be used: holds every problem that was found, in the order of the file."""

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)
