"""Which job a journal is kept for. A value: opens nothing and knows no task's text."""

from __future__ import annotations

from dataclasses import dataclass, fields

from symfonic_ray.delegation import shown


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """What must be the same for a run to go on where another stopped."""

    fleet: str
    """The fleet's name."""
    child: str
    """The child that gets the tasks."""
    tasks_digest: str
    """A digest of all tasks in their order."""
    total: int | None = None
    """How many tasks there are; None where that is not known ahead."""

    def __post_init__(self) -> None:
        for name in ("fleet", "child", "tasks_digest"):
            value = getattr(self, name)
            if type(value) is not str:
                raise TypeError(f"{name} is {shown(value)}; give a string")
            value.encode("utf-8")  # a lone surrogate cannot be stored: UnicodeEncodeError, a ValueError
        if self.total is not None and (type(self.total) is not int or self.total < 0):
            raise ValueError(f"total is {shown(self.total)}; give a whole number, 0 or more, or None")

    def differences(self, asked: JobIdentity) -> tuple[tuple[str, str, str], ...]:
        """(field, own value, asked value) of each field that differs; a total that one side does not know does not."""
        found = []
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(asked, field.name)
            if own != other and not (field.name == "total" and None in (own, other)):
                found.append((field.name, shown(own), shown(other)))
        return tuple(found)
