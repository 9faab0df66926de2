"""A bulk job while it is open: journal, fleet, file of results, and what is said of them. Decides the exit code."""

from __future__ import annotations

import asyncio
import gc
import time
import traceback
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from symfonic_ray.bulk import (
    BulkJob,
    BulkResult,
    BulkTerms,
    ResultsFile,
    Resumption,
    Tally,
    TaskFile,
    job_identity,
    job_tag,
    results_problem,
    resumption,
    settled_results,
)
from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.interrupts import Interrupts
from symfonic_ray.cli.map_progress import MapProgress, MapStand
from symfonic_ray.cli.map_summary import MapEnding
from symfonic_ray.cli.mapping import ESCAPED_BYTES, FRAME_BYTES, MapRequest, refused
from symfonic_ray.cli.streams import Results, say
from symfonic_ray.config import FleetConfig
from symfonic_ray.journal import JournalError, RunJournal, RunRecorder, RunStore, state_file
from symfonic_ray.kernel.text import failure_line

if TYPE_CHECKING:
    from symfonic_ray.compose import ObservedFleet

COUNTED_BYTES = 1 << 28  # a larger file is not read twice only to know how much is left
_OPENING_CODES = {"unreachable": ExitCode.UNREACHABLE, "limits": ExitCode.USAGE, "build": ExitCode.FAILED}


class MapSession:
    """One call of the command.

    Args:
        request: what was asked, checked as far as it can be without opening anything.
        config: the fleet, reduced to what the child needs.
        out: the real stdout.
    """

    def __init__(self, request: MapRequest, config: FleetConfig, out: Results) -> None:
        self._request = request
        self._config = config
        self._out = out
        self._tasks = TaskFile(
            request.tasks_file, longest_bytes=config.limits.payload_bytes * ESCAPED_BYTES + FRAME_BYTES
        )
        self._interrupts: Interrupts | None = None
        self._total: int | None = None
        self._journal: RunJournal | None = None
        self._tag: str | None = None
        self._earlier: Resumption | None = None
        self._results: ResultsFile | None = None
        self._tally = Tally()
        self._told: ExitCode | None = None

    async def run(self) -> ExitCode:
        """Do it; whatever goes wrong has been said when this returns."""
        from symfonic_ray.compose import FleetOpenError, open_fleet

        interrupts = self._interrupts = Interrupts()
        interrupts.install()
        try:
            async with AsyncExitStack() as stack:
                if problem := await self._prepare(stack):
                    return refused(self._request, self._out, ExitCode.USAGE, problem)
                if self._earlier is not None and not await asyncio.to_thread(self._work_is_left, self._earlier):
                    return self._tell(self._ending(began_at=time.monotonic(), first=self._tally.done))
                self._say_where_it_goes()
                fleet = await stack.enter_async_context(
                    open_fleet(
                        self._config, scope=self._request.scope, address=self._request.address, on_stage=self._on_stage
                    )
                )
                interrupts.install()
                gc.freeze()  # what Ray and the fleet are made of: a full collection over it takes 50 ms
                await self._hand_over(fleet, stack, interrupts)
                say("closing ...")
        except asyncio.CancelledError:
            if not interrupts.received:
                raise
            if self._told is None:
                words = "interrupted before a task was handed over"
                return refused(self._request, self._out, ExitCode.CANCELLED, words)
        except FleetOpenError as error:
            return refused(self._request, self._out, _OPENING_CODES[error.stage], str(error))
        except Exception as error:
            if self._told is None:
                raise
            if self._request.debug:
                traceback.print_exc()
            say(f"the results stand, but closing failed: {failure_line(error)}")
        return ExitCode.CANCELLED if interrupts.received or self._told is None else self._told

    def _on_stage(self, words: str) -> None:
        if self._interrupts is not None:
            self._interrupts.install()
        say(f"{words} ...")

    async def _prepare(self, stack: AsyncExitStack) -> str:
        """Read the tasks once, open the journal, settle what it settles; words where that cannot be."""
        request = self._request
        try:
            await self._open_journal(stack)
            earlier = self._earlier
            problem = results_problem(
                request.results_file, replace=request.force, job=None if earlier is None else self._tag
            )
            if problem:
                return problem
            if earlier is not None:
                self._results = await self._rebuilt(earlier, self._tally)
                stack.callback(self._close_results)
        except (JournalError, OSError) as error:
            return str(error)
        return ""

    async def _open_journal(self, stack: AsyncExitStack) -> None:
        request = self._request
        file = request.tasks_file
        if request.journal_file is None:
            if file.is_file() and file.stat().st_size <= COUNTED_BYTES:
                self._total = (await asyncio.to_thread(self._tasks.survey)).total
            return
        survey = await asyncio.to_thread(self._tasks.survey)
        self._total = survey.total
        job = job_identity(self._config.name, request.child, request.scope, survey)
        self._tag = job_tag(job)
        self._journal = await stack.enter_async_context(RunJournal.open(request.journal_file, job=job))
        state = self._journal.state()
        if not (state.delivered or state.failed or state.unknown):
            return
        idempotent = self._config.placements[request.child].idempotent
        self._earlier = resumption(
            state, rerun_unknown=request.rerun_unknown or idempotent, retry_failed=request.retry_failed
        )
        say(
            f"going on: of {survey.total:,} tasks {len(state.delivered):,} are delivered, {len(state.failed):,} failed "
            f"and {len(state.unknown):,} are unknown"
        )
        if self._earlier.unknown:
            say(
                f"{len(self._earlier.unknown):,} tasks were running when the last run ended and are not run again, as "
                "they may have had their effect; --rerun-unknown runs them again"
            )
        elif self._earlier.reruns:
            say(f"{self._earlier.reruns:,} tasks were running when the last run ended and are run again")

    def _work_is_left(self, earlier: Resumption) -> bool:
        return any(not task.problem for task in self._tasks.read(earlier.settled))

    async def _rebuilt(self, plan: Resumption, tally: Tally | None) -> ResultsFile:
        """A file of results with all that is settled, in the place of the old one.

        Raises:
            JournalError: if the journal cannot be read.
            OSError: if the file cannot be written; the old one stands.
        """
        assert self._journal is not None
        made = ResultsFile.beside(self._request.results_file, job=self._tag)
        try:
            async for result in settled_results(self._tasks, self._journal, plan):
                made.write(result)
                if tally is not None:
                    tally.count(result)
            made.take_place()
        except BaseException:
            made.close()
            raise
        return made

    def _close_results(self) -> None:
        if self._results is not None:
            self._results.close()

    def _say_where_it_goes(self) -> None:
        address = self._request.address
        counted = "" if self._total is None else f"{self._total:,} "
        say(f"{counted}tasks for {self._request.child}, results to {self._request.results_file}")
        say(f"connecting to the Ray at {address} ..." if address else "starting a local Ray (4 to 30 seconds) ...")

    def _in_flight(self) -> int:
        """As many as was asked for, and no more than the fleet admits: more would be refused or only wait."""
        limits = self._config.limits
        most = min(limits.max_in_flight, limits.max_in_flight_per_scope)
        asked = self._request.in_flight
        if asked is not None and asked > most:
            say(
                f"the fleet admits {most} tasks of one scope at a time, so --in-flight {asked} is {most}; "
                f"raise max_in_flight and max_in_flight_per_scope under limits in {self._config.file}"
            )
        return most if asked is None else min(asked, most)

    async def _hand_over(self, fleet: ObservedFleet, stack: AsyncExitStack, interrupts: Interrupts) -> None:
        request = self._request
        if self._results is None:
            try:
                self._results = ResultsFile.create(request.results_file, replace=request.force, job=self._tag)
            except OSError as error:
                self._told = refused(request, self._out, ExitCode.USAGE, str(error))
                return
            stack.callback(self._close_results)
        terms = BulkTerms(
            child=request.child,
            in_flight=self._in_flight(),
            timeout_seconds=request.timeout_seconds,
            ordered=request.ordered and self._journal is None,  # a journal puts them in order at the end
        )
        settled = self._earlier.settled if self._earlier is not None else ()
        first = self._tally.done
        job = BulkJob(fleet, self._tasks, terms, self._deliver, journal=self._journal, settled=settled)

        def stand() -> MapStand:
            tally = self._tally
            return MapStand(
                done=tally.done,
                failed=tally.failed,
                in_flight=job.in_flight,
                fresh=tally.done - first,
                total=self._total,
            )

        recorder = self._recorder()
        unrecord = fleet.observe(recorder.on_event) if recorder is not None else None
        began_at = time.monotonic()
        interrupted, stopped = False, ""
        try:
            with MapProgress(stand, no_color=request.no_color):
                await job.run()
            stopped = job.stopped
            if request.ordered and self._journal is not None:
                await self._put_in_order(self._journal)
        except asyncio.CancelledError:
            if not interrupts.received:
                raise
            interrupts.absorb()  # closing goes on in this task, as an ordinary end
            interrupted = True
        except (JournalError, OSError) as error:
            stopped = str(error)
        ending = self._ending(began_at=began_at, first=first, stopped=stopped, interrupted=interrupted)
        self._tell(ending)
        if recorder is not None and unrecord is not None:
            unrecord()
            recorder.end(ending.outcome, ending.message)
            if recorder.recording:
                say(f"recorded: symfonic-ray runs show {recorder.run_id}")

    def _recorder(self) -> RunRecorder | None:
        """Keeps what is handed over for ``runs``; None where no trace is wanted."""
        request = self._request
        if not request.record:
            return None
        recorder = RunRecorder(
            RunStore(state_file()),
            command="map",
            fleet=self._config.name,
            scope=request.scope,
            question=f"{request.tasks_file.name}, each line to {request.child}",
            warn=say,
        )
        recorder.begin()
        return recorder

    async def _put_in_order(self, journal: RunJournal) -> None:
        self._close_results()
        self._results = await self._rebuilt(
            resumption(journal.state(), rerun_unknown=False, retry_failed=False), tally=None
        )

    def _deliver(self, result: BulkResult) -> None:
        assert self._results is not None
        self._tally.count(result)
        self._results.write(result)

    def _ending(self, *, began_at: float, first: int, stopped: str = "", interrupted: bool = False) -> MapEnding:
        summary = self._tally.summary()
        return MapEnding(
            summary=summary,
            results=self._request.results_file,
            seconds=time.monotonic() - began_at,
            handed_over=summary.total - first,
            stopped=stopped,
            interrupted=interrupted,
        )

    def _tell(self, ending: MapEnding) -> ExitCode:
        """Print what came of it; the exit code."""
        self._told = ending.code(strict=self._request.strict)
        self._close_results()
        if self._request.as_json:
            self._out.object(ending.as_object())
        else:
            self._out.text(ending.as_table())
        say(f"{ending.outcome}" + (f": {ending.message}" if ending.message else ""))
        return self._told
