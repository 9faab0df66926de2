"""Why a journal is not opened, read or written. Words in ``__str__``, facts in attributes; all survive a pickle.

JournalError
+-- JournalPathError       the place: a folder, a link, no such folder, no right to write
+-- JournalForeignError    the file is something else
+-- JournalVersionError    a journal of another version of this library
+-- JournalDamagedError    a journal whose bytes are not those that were written
+-- JournalLockedError     another process, or another owner in this one, has it open
+-- JournalJobError        a journal of another job
+-- JournalWriteError      what was given could not be put on disk
|   +-- JournalFullError   for want of room
+-- AlreadyDeliveredError  a second end, or a new start, of what was delivered
+-- JournalClosedError     asked after the close
+-- RunStoreError          the store of runs is refused, or cannot be read or written
"""

from __future__ import annotations


class JournalError(Exception):
    """Anything that a journal has to say no to; ``path`` is the journal's file."""

    def __init__(self, path: str, *facts: object) -> None:
        super().__init__(path, *facts)
        self.path = path


class JournalPathError(JournalError):
    """A place where no journal can be kept."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        return f"no journal can be kept at {self.path!r}: {self.problem}; {self.remedy}"


class JournalForeignError(JournalError):
    """A file that is no journal; it was not changed."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found)
        self.found = found

    def __str__(self) -> str:
        return f"{self.path!r} is not a run journal: it {self.found}; give the path of a journal or of a new file"


class JournalVersionError(JournalError):
    """A journal in a form that this version does not know; it was not changed."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(path, found, known)
        self.found, self.known = found, known

    def __str__(self) -> str:
        return (
            f"the journal {self.path!r} has format {self.found} and this version of symfonic-ray reads {self.known}; "
            "use the version that wrote it, or start a new journal"
        )


class JournalDamagedError(JournalError):
    """A journal whose bytes are not those that were written; it was not changed."""

    def __init__(self, path: str, place: str, problem: str, remedy: str = "restore it or start a new journal") -> None:
        super().__init__(path, place, problem, remedy)
        self.place, self.problem, self.remedy = place, problem, remedy

    def __str__(self) -> str:
        return f"the journal {self.path!r} is damaged at {self.place}: {self.problem}; {self.remedy}"


class JournalLockedError(JournalError):
    """A journal that somebody else has open."""

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(path, pid)
        self.pid = pid
        """The other process; None where it does not tell."""

    def __str__(self) -> str:
        other = "another process" if self.pid is None else f"process {self.pid}"
        return f"the journal {self.path!r} is open in {other}; wait for it to end, or give each run its own journal"


class JournalJobError(JournalError):
    """A journal that was kept for another job; it was not changed."""

    def __init__(self, path: str, differences: tuple[tuple[str, str, str], ...]) -> None:
        super().__init__(path, differences)
        self.differences = differences
        """(field, in the journal, asked for) of each field that differs."""

    def __str__(self) -> str:
        said = ", ".join(f"{name} is {kept} there and {asked} here" for name, kept, asked in self.differences)
        return f"the journal {self.path!r} belongs to another job: {said}; give the same job or a new journal"


class JournalWriteError(JournalError):
    """Rows that could not be put on disk; none of them counts as written, and all written before do."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the journal {self.path!r} could not be written: {self.problem}; mend that and open it again to resume"


class JournalFullError(JournalWriteError):
    """Rows for which there is no room; once there is, the same journal takes them."""

    def __str__(self) -> str:
        return f"the journal {self.path!r} could not be written: {self.problem}; free some room and go on or resume"


class AlreadyDeliveredError(JournalError):
    """An item that was delivered and is started or ended again."""

    def __init__(self, path: str, index: int) -> None:
        super().__init__(path, index)
        self.index = index

    def __str__(self) -> str:
        return (
            f"item {self.index} is delivered in the journal {self.path!r}; "
            "leave out what state().delivered holds, nothing delivered runs again"
        )


class JournalClosedError(JournalError):
    """A journal that is asked after its close."""

    def __str__(self) -> str:
        return f"the journal {self.path!r} is closed; open it again to read or write it"


class RunStoreError(JournalError):
    """A run store that is refused, or cannot be read or written; it was not changed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"the run store {self.path!r} cannot be used: {self.problem}; mend or move that file, "
            "or set SYMFONIC_RAY_STATE to another folder"
        )
