"""How owned children end (the part of case D02 that needs no cluster)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from symfonic_ray.delegation import ChildLifecycle, TeardownReport
from symfonic_ray.testing import RecordingRunner


class Child:
    """Logs its clean-up; each phase may be replaced by another body."""

    def __init__(self, log: list[str], label: str, flush: Any = None, close: Any = None) -> None:
        self._log, self._label, self._flush, self._close = log, label, flush, close

    async def flush_background_tasks(self) -> None:
        await asyncio.sleep(0)
        if self._flush is not None:
            await self._flush()
        self._log.append(f"flush {self._label}")

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        if self._close is not None:
            await self._close()
        self._log.append(f"close {self._label}")


async def forever() -> None:
    await asyncio.Event().wait()


async def stubborn() -> None:
    """Swallows one cancellation, as a wedged clean-up does."""
    try:
        await forever()
    except asyncio.CancelledError:
        await asyncio.sleep(30)


def raising(error: BaseException) -> Callable[[], Any]:
    async def body() -> None:
        raise error

    return body


def lifecycle(*children: object, grace_seconds: float = 5.0) -> ChildLifecycle:
    return ChildLifecycle(children, grace_seconds=grace_seconds, names=[f"c{n}" for n in range(len(children))])


async def test_the_children_of_the_first_day_are_owned_and_stay_readable() -> None:
    log: list[str] = []
    mine = [Child(log, "a")]
    owner = ChildLifecycle(mine)
    mine.append(Child(log, "late"))
    await owner.shutdown()
    assert owner.owned == (mine[0],)
    assert log == ["flush a", "close a"]


async def test_every_child_is_flushed_before_any_is_closed() -> None:
    log: list[str] = []
    report = await lifecycle(*(Child(log, n) for n in "abc")).shutdown()
    assert (sorted(log[:3]), sorted(log[3:])) == (["flush a", "flush b", "flush c"], ["close a", "close b", "close c"])
    assert report == TeardownReport(verb="flush+aclose", attempted=6)


async def test_children_are_flushed_side_by_side() -> None:
    together = asyncio.Barrier(3)
    report = await lifecycle(*(Child([], n, flush=together.wait) for n in "abc")).flush()
    assert report == TeardownReport(verb="flush", attempted=3)


async def test_a_child_without_the_method_is_skipped_and_still_counted() -> None:
    log: list[str] = []
    owner = lifecycle(object(), Child(log, "a"))
    assert await owner.flush() == TeardownReport(verb="flush", attempted=2)
    assert await owner.aclose() == TeardownReport(verb="aclose", attempted=2)
    assert log == ["flush a", "close a"]


class PlainClose:
    """Closes by a plain function."""

    closed = False

    def aclose(self) -> None:
        self.closed = True


async def test_a_plain_close_is_called_too() -> None:
    child = PlainClose()
    assert (await lifecycle(child).aclose()).clean
    assert child.closed


FAILURES: dict[str, tuple[BaseException, str]] = {
    "an error": (ValueError("no\nluck"), "ValueError: no luck"),
    "an exit": (SystemExit(3), "SystemExit: 3"),
    "an interrupt": (KeyboardInterrupt(), "KeyboardInterrupt"),
    "its own cancellation": (asyncio.CancelledError(), "by its own doing"),
}


@pytest.mark.parametrize(("error", "words"), FAILURES.values(), ids=FAILURES.keys())
@pytest.mark.parametrize("place", [0, 1])
async def test_a_raising_child_never_strands_the_others(place: int, error: BaseException, words: str) -> None:
    log: list[str] = []
    children = [Child(log, "a"), Child(log, "b")]
    children[place] = Child(log, "bad", flush=raising(error), close=raising(error))
    report = await lifecycle(*children).shutdown()
    assert len(log) == 2
    assert [
        line.startswith(f"c{place}: {verb} ") for line, verb in zip(report.failures, ("flush", "aclose"), strict=True)
    ] == [True, True]
    assert all(words in line for line in report.failures)
    assert report.attempted == 4


class SourAttribute:
    @property
    def aclose(self) -> None:
        raise RuntimeError("no")


async def test_a_child_whose_method_cannot_be_read_is_a_failure() -> None:
    report = await lifecycle(SourAttribute()).aclose()
    assert report.failures == ("c0: aclose failed: RuntimeError: no",)


@pytest.mark.parametrize("wedged", [forever, stubborn], ids=["cancellable", "stubborn"])
async def test_a_wedged_child_runs_out_of_its_grace_and_strands_nobody(wedged: Any) -> None:
    log: list[str] = []
    started = time.monotonic()
    report = await lifecycle(Child(log, "a"), Child(log, "w", flush=wedged), grace_seconds=0.05).shutdown()
    assert time.monotonic() - started < 2
    assert report.failures == ("c1: flush did not end within its grace of 0.05 s",)
    assert sorted(log) == ["close a", "close w", "flush a"]


async def test_repeated_and_concurrent_shutdowns_give_the_first_one_s_report() -> None:
    child = RecordingRunner()
    owner = lifecycle(child)
    reports = [*await asyncio.gather(*(owner.shutdown() for _ in range(5))), await owner.shutdown()]
    assert all(report is reports[0] for report in reports)
    assert child.clean_up == ["flush", "aclose"]


async def test_repeated_and_concurrent_closes_give_the_first_one_s_report() -> None:
    child = RecordingRunner()
    owner = lifecycle(child)
    reports = [*await asyncio.gather(owner.aclose(), owner.aclose()), await owner.aclose()]
    assert all(report is reports[0] for report in reports)
    assert child.clean_up == ["aclose"]


async def test_flushes_at_the_same_time_are_one_and_a_later_one_is_another() -> None:
    child = RecordingRunner()
    owner = lifecycle(child)
    await asyncio.gather(owner.flush(), owner.flush())
    assert child.clean_up == ["flush"]
    await owner.flush()
    assert child.clean_up == ["flush", "flush"]


async def test_closed_children_are_not_flushed() -> None:
    child = RecordingRunner()
    owner = lifecycle(child)
    await owner.aclose()
    assert await owner.flush() == TeardownReport(verb="flush")
    assert (await owner.shutdown()).clean
    assert child.clean_up == ["aclose"]


async def test_a_shutdown_that_is_cancelled_in_its_flush_still_closes_before_it_leaves() -> None:
    log: list[str] = []
    flushing = asyncio.Event()

    async def wedge() -> None:
        flushing.set()
        await forever()

    owner = lifecycle(Child(log, "a", flush=wedge), Child(log, "b"), grace_seconds=30)
    ending = asyncio.create_task(owner.shutdown())
    await flushing.wait()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert sorted(log) == ["close a", "close b", "flush b"]
    assert (await owner.shutdown()).failures == ("c0: flush was cut short by a cancellation",)


async def test_one_caller_s_cancellation_does_not_cut_the_flush_of_another() -> None:
    log: list[str] = []
    gate, flushing = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        flushing.set()
        await gate.wait()

    owner = lifecycle(Child(log, "a", flush=slow))
    first, second = asyncio.create_task(owner.shutdown()), asyncio.create_task(owner.shutdown())
    await flushing.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.set()
    assert (await second).clean
    assert log == ["flush a", "close a"]


def test_a_loop_that_ends_in_the_middle_of_a_flush_still_closes() -> None:
    log: list[str] = []
    owner = lifecycle(Child(log, "a", flush=forever), grace_seconds=30)

    async def leave_early() -> None:
        tasks.add(asyncio.create_task(owner.shutdown()))
        for _ in range(5):
            await asyncio.sleep(0)

    tasks: set[asyncio.Task[TeardownReport]] = set()
    asyncio.run(leave_early())
    assert log == ["close a"]


def test_a_shutdown_s_report_can_be_asked_for_from_another_loop() -> None:
    child = RecordingRunner()
    owner = lifecycle(child)
    assert asyncio.run(owner.shutdown()) is asyncio.run(owner.shutdown())
    assert child.clean_up == ["flush", "aclose"]


async def test_a_lifecycle_shuts_down_when_its_block_is_left() -> None:
    child = RecordingRunner()
    async with lifecycle(child) as owner:
        assert child.clean_up == []
    assert child.clean_up == ["flush", "aclose"]
    assert (await owner.shutdown()).clean


class Named:
    name = "reader"
    aclose = staticmethod(raising(ValueError("no")))


async def test_a_failure_names_the_child_without_being_told_its_name() -> None:
    nameless = Child([], "x", close=raising(ValueError("no")))
    report = await ChildLifecycle([Named(), nameless]).aclose()
    assert [line.split(":")[0] for line in report.failures] == ["reader", "Child #2"]


def test_names_that_do_not_fit_the_children_are_refused() -> None:
    with pytest.raises(ValueError, match="1 names were given for 2 children"):
        ChildLifecycle([object(), object()], names=["a"])


async def test_nobody_to_end_is_a_clean_report() -> None:
    assert await ChildLifecycle(()).shutdown() == TeardownReport(verb="flush+aclose")
