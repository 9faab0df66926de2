"""Every error of ours survives a pickle: type, words and facts. Ray carries errors that way."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import symfonic_ray
from symfonic_ray.cluster.faults import Fault
from symfonic_ray.config.errors import ConfigProblem
from symfonic_ray.delegation import DelegationOutcome, HandOffFacts

EXAMPLES: dict[str, tuple[object, ...]] = {
    "DelegationError": ("anything",),
    "ChildDeclarationError": ("memo", "is odd"),
    "DuplicateChildError": ("memo",),
    "UnknownChildError": ("ghost", ("memo", "reader")),
    "ChildLockdownError": ("memo", "holds a pen", ("memory_block_append",)),
    "UnsanitisableChildConfigError": ("memo", "asks for a pen", ()),
    "ChildBuildError": ("memo", "build_failed", "KeyError: 'url'"),
    "HandOffFault": ("actor_died", "it is gone", HandOffFacts(run_id="r"), DelegationOutcome.CHILD_FAILED),
    "ScopeError": ("'*'", "names no tenant"),
    "ParcelError": ("working dir .", "is no folder", "name one"),
    "SubmissionError": ("http://127.0.0.1:1", "nothing answers there", "start it"),
    "LimitError": ("max_depth", "-1", "0 or more"),
    "EnvelopeError": ("serialization", "is odd"),
    "ClusterUnreachableError": ("127.0.0.1:1", "refused", "start it"),
    "PoolClosedError": ("readers",),
    "UnshippableError": ("build -> variable 'lock'", "TypeError: a lock"),
    "CleanUpError": ("did not end",),
    "ChildExitError": ("SystemExit", "3"),
    "ProviderCannotBuildError": ("memo", "Provider"),
    "ConfigError": (
        (ConfigProblem(file="fleet.yaml", line=3, key="name", problem="is blank", remedy="name the fleet"),),
    ),
    "ImportStringError": ("actors.reader:built", "names no attribute", "check its spelling"),
    "FleetOpenError": ("limits", "fleet.yaml: max_tokens is 5"),
    "NotRunnableError": ("int",),
    "UnnamedToolError": ("int",),
    "MispairedOutcomesError": (3, 2),
    "BodyAbandonedError": ("nobody waits",),
    "WorkerDiedError": ("search",),
    "OverdueError": (),
    "ToolNameError": ("a b", "holds U+0020 SPACE"),
    "ModelError": ("anything",),
    "UnknownModelError": ("gpt", "is not known", "name one"),
    "NotImportableError": ("a:b", "is odd", "correct it"),
    "ForeignAgentError": ("shop.Robot", "is of no known kind", "give a function"),
    "MissingLibraryError": ("local", "xllamacpp", "pip install x"),
    "MissingKeyError": ("openai:m", "OPENAI_API_KEY"),
    "ModelRequestError": ("m", 400, "no"),
    "ModelBusyError": ("m", 429, "later"),
    "ModelUnreachableError": ("m", "is gone"),
    "BrokenReplyError": ("m", "was cut off"),
    "LocalModelError": ("did not start", "try again"),
    "JournalError": ("run.journal", "anything"),
    "JournalPathError": ("run.journal", "is a folder", "name a file"),
    "JournalForeignError": ("run.journal", "a photo album"),
    "JournalVersionError": ("run.journal", 9, 1),
    "JournalDamagedError": ("run.journal", "item 7", "its checksum does not fit"),
    "JournalLockedError": ("run.journal", 4711),
    "JournalJobError": ("run.journal", (("child", "reader", "writer"),)),
    "JournalWriteError": ("run.journal", "the disk is gone"),
    "JournalFullError": ("run.journal", "no room"),
    "AlreadyDeliveredError": ("run.journal", 7),
    "JournalClosedError": ("run.journal",),
    "RowFilterError": ("colour=red", "there is no 'colour'"),
    "RunStoreError": ("runs.db", "it is a database of another program"),
    "UnreadableArgumentsError": ("are cut off",),
    "AmbiguousLineError": ("gives the key 'task' twice",),
    "A2AError": ("http://127.0.0.1:1", "cannot be asked"),
    "DuplicateToolError": ("search",),
    "StalledError": (1000.5,),
    "ProcessLostError": (Fault("actor_died", "the child's process ended"),),
    "PlannedBuildError": (),
    "SimulationError": (7, 200, ("exactly one record: call 1: 1 invoked, 0 ended",)),
    "CallLostError": (Fault("actor_died", "the child's process ended"),),
    "MalformedPredicateError": ("7", "is a number"),
}


def our_errors() -> Iterator[type[BaseException]]:
    """Every exception class that the package defines."""
    for found in pkgutil.walk_packages(symfonic_ray.__path__, "symfonic_ray."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, BaseException) and thing.__module__ == module.__name__:
                yield thing


ERRORS = sorted(set(our_errors()), key=lambda error: error.__name__)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_comes_back_from_a_pickle_as_it_was(error: type[BaseException]) -> None:
    assert error.__name__ in EXAMPLES, f"give {error.__module__}.{error.__name__} an example here"
    first = error(*EXAMPLES[error.__name__])
    second = pickle.loads(pickle.dumps(first))
    assert type(second) is error
    assert str(second) == str(first)
    assert str(first).strip()
    assert vars(second) == vars(first)


def test_there_is_no_example_without_its_error() -> None:
    assert set(EXAMPLES) <= {error.__name__ for error in ERRORS}
