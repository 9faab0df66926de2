"""A journal's errors cross a process and say what was asked, what is wrong and what to do."""

from __future__ import annotations

import pickle

import pytest

from symfonic_ray.journal import (
    AlreadyDeliveredError,
    JournalClosedError,
    JournalDamagedError,
    JournalError,
    JournalForeignError,
    JournalFullError,
    JournalJobError,
    JournalLockedError,
    JournalPathError,
    JournalVersionError,
    JournalWriteError,
    RunStoreError,
)

EXAMPLES = [
    (JournalPathError("/j", "its folder is gone", "create it"), ("its folder is gone", "create it")),
    (JournalForeignError("/j", "is empty"), ("is empty", "give the path")),
    (JournalVersionError("/j", 9, 1), ("format 9", "reads 1", "start a new journal")),
    (JournalDamagedError("/j", "item 4", "it is not as written"), ("item 4", "it is not as written", "restore it")),
    (JournalDamagedError("/j", "item 4", "it is not as written", "cut it"), ("item 4", "cut it")),
    (JournalLockedError("/j", 77), ("process 77", "wait for it")),
    (JournalLockedError("/j", None), ("another process", "wait for it")),
    (JournalJobError("/j", (("child", "'a'", "'b'"),)), ("child is 'a' there and 'b' here", "give the same job")),
    (JournalWriteError("/j", "an odd disk"), ("an odd disk", "open it again")),
    (JournalFullError("/j", "the disk is full"), ("the disk is full", "free some room")),
    (AlreadyDeliveredError("/j", 5), ("item 5", "leave out")),
    (JournalClosedError("/j"), ("is closed", "open it again")),
    (RunStoreError("/j", "it has format 9"), ("format 9", "mend or move that file")),
]


@pytest.mark.parametrize(("error", "words"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_names_the_file_the_fault_and_the_remedy_on_one_line(
    error: JournalError, words: tuple[str, ...]
) -> None:
    for word in ("'/j'", *words):
        assert word in str(error)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("error", [error for error, _ in EXAMPLES], ids=lambda value: type(value).__name__)
def test_an_error_comes_back_from_a_pickle_as_it_was(error: JournalError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_every_error_of_the_room_has_an_example() -> None:
    def below(kind: type[JournalError]) -> set[type[JournalError]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    assert below(JournalError) - {JournalError} == {type(error) for error, _ in EXAMPLES}
