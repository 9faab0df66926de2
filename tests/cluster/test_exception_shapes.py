"""P15 on a real Ray: twenty shapes of exception in a child; each is one safe line, and the same host goes on."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from symfonic_ray.delegation import DelegationOutcome, ScopedChild, UnknownChildError
from tests.cluster.children import Child, Evil, KeywordError, OwnBase, Unprintable
from tests.cluster.conftest import PoolMaker, hosts

CANARY = "sk-canary-in-an-exception-91"


class HoldsALock(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("cannot travel")
        self.lock = threading.Lock()


class RaisesInReduce(Exception):
    """Breaks whoever pickles it."""

    def __reduce__(self) -> Any:
        raise RuntimeError("no pickle of me")


class EndsInWords(Exception):
    """Ends its process when printed, unless the host holds it."""

    def __str__(self) -> str:
        raise SystemExit(4)


class GivesNoText(Exception):
    """Breaks the promise of ``__str__``."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # that is the fault it shows


def chained() -> BaseException:
    """An error whose cause is an evil one."""
    error = ValueError("outer")
    error.__cause__ = Evil("inner")
    return error


def circular() -> BaseException:
    """An error that is its own context."""
    error = ValueError("round")
    error.__context__ = error
    return error


SHAPES: dict[str, Callable[[], BaseException]] = {
    "keyword-only init": lambda: KeywordError(code=7),
    "unpicklable payload": HoldsALock,
    "evil reduce": Evil,
    "raising reduce": RaisesInReduce,
    "raising str": Unprintable,
    "str that exits": EndsInWords,
    "str that gives no text": GivesNoText,
    "five megabytes": lambda: ValueError("x" * 5_000_000),
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "own BaseException": lambda: OwnBase("mine"),
    "ExceptionGroup": lambda: ExceptionGroup("many", [ValueError("one"), Evil("two")]),
    "BaseExceptionGroup": lambda: BaseExceptionGroup("many", [SystemExit(1), OwnBase("two")]),
    "own UnknownChildError": lambda: UnknownChildError("ghost", ("echo",)),
    "own TimeoutError": lambda: TimeoutError("its own"),
    "evil cause": chained,
    "its own context": circular,
    "lines, colours and bidi": lambda: ValueError("one\ntwo\r\x1b[31m\u2028\u202ethree\x00"),
    "lone surrogate": lambda: ValueError("a\ud800b"),
    "a pickle in its text": lambda: ValueError(pickle.dumps(Path("x")).decode("latin-1")),
}


def shapes(scope: Any) -> Child:
    """Raises the shape that its task names, else answers."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        if query in SHAPES:
            raise SHAPES[query]()
        return f"{os.getpid()} {query}"

    return Child(scope, answer)


def test_there_are_twenty_shapes() -> None:
    assert len(SHAPES) == 20


async def test_each_shape_is_one_safe_line_and_the_same_process_takes_the_next_task(open_pool: PoolMaker) -> None:
    pool = await open_pool(ScopedChild(name="shapes", description="raises", build=shapes))
    async with pool.scope("acme") as fleet:
        (pid,) = (await hosts(pool.name, 1)).values()
        for shape in SHAPES:
            record = await fleet.delegate("shapes", shape, timeout_seconds=20)
            assert (record.outcome, record.reason) == (DelegationOutcome.CHILD_FAILED, "exception"), (shape, record)
            assert type(record.message) is str, shape
            assert 0 < len(record.message.encode()) <= 4096, shape  # encodes: no surrogate is left
            assert len(record.message.splitlines()) == 1, shape
            assert "Traceback" not in record.message, shape
            assert not {"\x1b", "\x00", "\u202e"} & set(record.message), shape
            following = await fleet.delegate("shapes", "next", timeout_seconds=20)
            assert following.message == f"{pid} next", shape


async def test_shapes_side_by_side_do_not_touch_one_another(open_pool: PoolMaker) -> None:
    pool = await open_pool(ScopedChild(name="shapes", description="raises", build=shapes))
    async with pool.scope("acme") as fleet:
        asked = [word for shape in SHAPES for word in (shape, f"well {shape}")]
        records = await asyncio.gather(*(fleet.delegate("shapes", word, timeout_seconds=30) for word in asked))
    for word, record in zip(asked, records, strict=True):
        wanted = DelegationOutcome.CHILD_FAILED if word in SHAPES else DelegationOutcome.DELIVERED
        assert record.outcome is wanted, (word, record)


async def test_a_key_in_a_child_s_exception_stays_in_its_host(open_pool: PoolMaker) -> None:
    pool = await open_pool(ScopedChild(name="keys", description="tells its key", build=keys))
    async with pool.scope("acme") as fleet:
        record = await fleet.delegate("keys", "go", timeout_seconds=20)
    assert record.outcome is DelegationOutcome.CHILD_FAILED
    assert CANARY not in repr(record) + str(record.as_dict())
    assert "PROVIDER_API_KEY" in record.message


def keys(scope: Any) -> Child:
    """Fails with its host's key in the words, as some clients do."""
    os.environ["PROVIDER_API_KEY"] = CANARY  # as the deployment would set it where hosts run

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        raise ValueError(f"the provider refused {os.environ['PROVIDER_API_KEY']}")

    return Child(scope, answer)
