"""How owned children end: flushed, then closed, side by side, each under its own grace. Knows no roster and no scope.

One wedged or raising child never strands the others: what it did becomes a line of the report.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any

from symfonic_ray.delegation.values import TeardownReport
from symfonic_ray.kernel.text import failure_line

GRACE_SECONDS = 10.0
_UNWIND_SECONDS = 0.25  # a cancelled clean-up may finish its own finally; a wedged one is left behind


class ChildLifecycle:
    """The children that a composition built.

    Args:
        owned: the children; the list is copied.
        grace_seconds: how long one phase of one child may take.
        names: one name a child, for the report; a child's own ``name`` or type where none is given.
    Raises:
        ValueError: if names are given and are not one a child.
    """

    def __init__(
        self, owned: Iterable[Any], *, grace_seconds: float = GRACE_SECONDS, names: Iterable[str] = ()
    ) -> None:
        self._owned = tuple(owned)
        self._names = tuple(names) or tuple(_own_name(child, place) for place, child in enumerate(self._owned, 1))
        if len(self._names) != len(self._owned):
            raise ValueError(f"{len(self._names)} names were given for {len(self._owned)} children; give one each")
        self._grace_seconds = grace_seconds
        self._flushing: asyncio.Task[TeardownReport] | None = None
        self._closing: asyncio.Task[TeardownReport] | None = None
        self._ending: asyncio.Task[TeardownReport] | None = None
        self._waiting = 0

    @property
    def owned(self) -> tuple[Any, ...]:
        """The children, also after they were closed."""
        return self._owned

    async def flush(self) -> TeardownReport:
        """Await every child's ``flush_background_tasks``.

        Calls at the same time share one flush; a later call flushes again, unless the children are closed.
        """
        if self._closing is not None or self._ending is not None:
            return TeardownReport(verb="flush")
        return await asyncio.shield(self._flush_task())

    async def aclose(self) -> TeardownReport:
        """Await every child's ``aclose``, once: every call returns the first one's report."""
        return await asyncio.shield(self._close_task())

    async def shutdown(self) -> TeardownReport:
        """Flush, then close, whatever the flush did; every call returns the first one's report.

        A caller that is cancelled cuts the flush short, unless another caller waits too, and leaves when the
        children are closed.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._flush_then_close())
        self._waiting += 1
        try:
            return await asyncio.shield(self._ending)
        except asyncio.CancelledError:
            if self._waiting == 1:
                if self._flushing is not None:
                    self._flushing.cancel()
                await asyncio.wait({self._ending})
            raise
        finally:
            self._waiting -= 1

    async def __aenter__(self) -> ChildLifecycle:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    def _flush_task(self) -> asyncio.Task[TeardownReport]:
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._phase("flush", "flush_background_tasks"))
        return self._flushing

    def _close_task(self) -> asyncio.Task[TeardownReport]:
        if self._closing is None:
            self._closing = asyncio.create_task(self._phase("aclose", "aclose"))
        return self._closing

    async def _flush_then_close(self) -> TeardownReport:
        flushed = TeardownReport(verb="flush")
        if self._closing is None:
            task = self._flush_task()
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:  # the loop is ending; the children are still closed first
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():  # it was, if it never came to start
                flushed = task.result()
        return flushed.merge(await asyncio.shield(self._close_task()))

    async def _phase(self, verb: str, method: str) -> TeardownReport:
        """One verb on every child, side by side; a cancellation cuts it short and is told in the report."""
        tasks = {
            asyncio.create_task(_attempt(child, method)): name
            for name, child in zip(self._names, self._owned, strict=True)
        }
        if not tasks:
            return TeardownReport(verb=verb)
        excuse = f"did not end within its grace of {self._grace_seconds:g} s"
        try:
            await asyncio.wait(tasks, timeout=self._grace_seconds)
        except asyncio.CancelledError:
            excuse = "was cut short by a cancellation"
        late = {task for task in tasks if not task.done()}
        for task in late:
            task.cancel()
        if late:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(late, timeout=_UNWIND_SECONDS)
        failures = []
        for task, name in tasks.items():
            if task in late:
                failures.append(f"{name}: {verb} {excuse}")
            elif words := task.result():
                failures.append(f"{name}: {verb} failed: {words}")
        return TeardownReport(verb=verb, attempted=len(tasks), failures=tuple(failures))


async def _attempt(child: Any, method: str) -> str:
    """Call one clean-up method; empty when it ended well or is not there, else what it raised."""
    try:
        clean_up = getattr(child, method, None)
        if callable(clean_up):
            pending = clean_up()
            if inspect.isawaitable(pending):
                await pending
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return "it was cancelled by its own doing"
    except BaseException as error:  # an exit raised in a task would take the loop with it
        return failure_line(error)
    return ""


def _own_name(child: Any, place: int) -> str:
    try:
        name = getattr(child, "name", None)
    except Exception:
        name = None
    return name if isinstance(name, str) and name else f"{type(child).__name__} #{place}"
