"""One task that builds an agent, may run it, and closes it. Knows no agent, no wire, no Ray.

A task group or a cancel scope may only be left by the task that entered it, so what ``build`` opens and ``aclose``
closes must share a task. Work is handed over as coroutine functions and done one after another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from symfonic_ray.kernel.text import failure_line

T = TypeVar("T")


class _Job(Generic[T]):
    __slots__ = ("settled", "work")

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.work = work
        self.settled: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle_failed(self, error: BaseException) -> None:
        if not self.settled.done():
            self.settled.set_exception(error if isinstance(error, Exception) else RuntimeError(failure_line(error)))


class LifetimeTask:
    """Does jobs in one task of the running loop, one after another."""

    def __init__(self, name: str) -> None:
        self._inbox: asyncio.Queue[_Job[Any] | None] = asyncio.Queue()
        self._current: _Job[Any] | None = None
        self._task = asyncio.get_running_loop().create_task(self._main(), name=f"lifetime of {name}")

    @property
    def busy(self) -> bool:
        """Whether a job is being done or waits."""
        return self._current is not None or not self._inbox.empty()

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of ``work``, done in the lifetime task.

        A cancellation of the caller is passed on to the job, and the caller leaves only once the job has ended: a
        job that ignores its cancellation is seen as still running, which is the truth.
        """
        job: _Job[T] = _Job(work)
        self._inbox.put_nowait(job)
        while True:
            try:
                return await asyncio.shield(job.settled)
            except asyncio.CancelledError:
                if job.settled.done():
                    raise
                if self._current is job:
                    self._task.cancel()
                else:
                    job.settled.cancel()  # it has not started and never will
                    raise

    async def end(self) -> None:
        """Let the task finish what it has and end."""
        self._inbox.put_nowait(None)
        await asyncio.wait([self._task])

    async def _main(self) -> None:
        while (job := await self._inbox.get()) is not None:
            if job.settled.done():
                continue
            self._current = job
            try:
                result = await job.work()
            except asyncio.CancelledError:
                _taken_back(asyncio.current_task())
                job.settled.cancel()
            except BaseException as error:  # a job's own fault; SystemExit must not stop the loop
                job.settle_failed(error)
            else:
                _taken_back(asyncio.current_task())  # the job swallowed its cancellation; the next one is not cancelled
                if not job.settled.done():
                    job.settled.set_result(result)
            finally:
                self._current = None


def _taken_back(task: asyncio.Task[Any] | None) -> None:
    while task is not None and task.cancelling():
        task.uncancel()
