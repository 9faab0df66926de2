"""What a person or a coordinator must put right before files can be read.

ValueError
  InputError        the file or folder that was asked about cannot be read at all
  AssignmentError   a task that no reader may or can carry out
"""

from __future__ import annotations


class InputError(ValueError):
    """The input of a question cannot be read at all."""

    def __init__(self, shown_path: str, problem: str) -> None:
        super().__init__(shown_path, problem)
        self.shown_path, self.problem = shown_path, problem

    def __str__(self) -> str:
        return (
            f"the input {self.shown_path} {self.problem}; give the absolute path of a text file or of a folder of them"
        )


class AssignmentError(ValueError):
    """A task that a reader refuses: malformed, or about something it may not open."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the reader refuses its task: {self.problem}"
