"""The one place that joins a fleet file, the cluster and the parent agent. Decides how a run ends; prints nothing.

Ray is imported when a fleet is opened, never when this module is.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from symfonic_ray.admission import LimitError
from symfonic_ray.config import FleetConfig, resolve
from symfonic_ray.delegation import (
    ChildLifecycle,
    DelegationOutcome,
    DelegationRecord,
    Fleet,
    HandOffEnded,
    HandOffEvent,
    call_agent,
    read_answer,
    serving,
)
from symfonic_ray.kernel import Deadline, deadline, new_root
from symfonic_ray.kernel.text import failure_line

PARENT_CLOSE_SECONDS = 5.0


class AskOutcome(StrEnum):
    """How a question to a fleet ended."""

    DELIVERED = "delivered"
    FAILED = "failed"
    REFUSED = "refused"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"


class ObservedFleet(Fleet, Protocol):
    """A fleet that tells of its hand-offs."""

    def observe(self, listener: Callable[[HandOffEvent], None]) -> Callable[[], None]:
        """Call ``listener`` with every event from now on, until what this gives back is called."""
        ...


class FleetOpenError(RuntimeError):
    """A fleet that did not come up: no cluster, limits that the pool does not keep, or a child that is not built."""

    def __init__(self, stage: Literal["unreachable", "limits", "build"], words: str) -> None:
        super().__init__(stage, words)
        self.stage, self.words = stage, words

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A passage that an answer cites."""

    file: str
    """Relative to the input folder, with forward slashes."""
    line: int
    """1-based."""
    text: str
    """Stands in that line of that file, letter by letter."""
    child: str
    """The child that found it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one question."""

    outcome: AskOutcome
    """``delivered`` when there is an answer and at least one hand-off, if any were made, delivered."""
    text: str
    """The answer; may be there although the outcome is not ``delivered``."""
    message: str
    """Why the outcome is not ``delivered``, on one line; empty when it is."""
    quotes: tuple[Quote, ...]
    """Best first."""
    notes: tuple[str, ...]
    """What the parent has to say about its work, and what went wrong when it was closed."""
    records: tuple[DelegationRecord, ...]
    """Of every hand-off, in the order in which they ended."""
    seconds: float
    """From the question to the answer."""
    cause: BaseException | None
    """The parent's own exception, where one ended the run."""


@asynccontextmanager
async def open_fleet(
    config: FleetConfig,
    *,
    scope: str,
    address: str | None = None,
    on_stage: Callable[[str], None] | None = None,
    beside: Callable[[Any], AbstractAsyncContextManager[Any]] | None = None,
    on_beside: Callable[[Any], None] | None = None,
) -> AsyncIterator[ObservedFleet]:
    """Connect, start a pool and build the children of ``scope``; close all of it on leaving.

    Args:
        config: a checked fleet file.
        scope: the tenant.
        address: of a Ray cluster; None: ``RAY_ADDRESS``, else a local Ray that is started and stopped here.
        on_stage: told in a few words what is being waited for.
        beside: given the pool, something that is open as long as the pool is, such as a console.
        on_beside: told what ``beside`` gives, before the children are built.
    Raises:
        FleetOpenError: when the cluster cannot be reached, the pool refuses a limit, or a child cannot be built.
    """
    from symfonic_ray.cluster import ChildBuildError, Cluster, ClusterUnreachableError

    say = on_stage or (lambda words: None)
    async with AsyncExitStack() as stack:
        try:
            cluster = await stack.enter_async_context(Cluster.connect(address))
            say(f"building {', '.join(child.name for child in config.children)} for scope {scope}")
            pool = await stack.enter_async_context(
                cluster.pool(
                    config.children,
                    max_depth=config.max_depth,
                    placements=dict(config.placements),
                    limits=config.limits,
                    run_limits=config.run_limits,
                    name=config.name,
                )
            )
            if beside is not None:
                opened = await stack.enter_async_context(beside(pool))
                if on_beside is not None:
                    on_beside(opened)
            fleet = await stack.enter_async_context(pool.scope(scope))
        except ClusterUnreachableError as error:
            raise FleetOpenError("unreachable", str(error)) from error
        except LimitError as error:
            raise FleetOpenError("limits", f"{config.file}: {error}") from error
        except ChildBuildError as error:
            raise FleetOpenError("build", str(error)) from error
        yield fleet


async def ask(
    fleet: ObservedFleet,
    config: FleetConfig,
    *,
    scope: str,
    question: str,
    input_path: Path,
    timeout_seconds: float | None = None,
) -> Answer:
    """Put one question to the fleet's parent, or to its entry child, and wait for what comes of it.

    Whatever goes wrong is an outcome of the answer; only the caller's own cancellation is raised.

    Args:
        fleet: as ``open_fleet`` gives it.
        config: the file it was opened from.
        scope: the tenant it was opened for; the parent is built for it too.
        question: any text.
        input_path: absolute path of the file or folder that the question is about.
        timeout_seconds: for the whole answer; the fleet's ``run_limits.max_seconds`` when that is less, or None.
    """
    records: list[DelegationRecord] = []
    close_failures: list[str] = []

    def note(event: HandOffEvent) -> None:
        if isinstance(event, HandOffEnded):
            records.append(event.record)

    limit = config.run_limits.max_seconds
    seconds = limit if timeout_seconds is None else min(timeout_seconds, limit)
    task = json.dumps({"question": question, "input": str(input_path)}, ensure_ascii=False)
    began_at = time.monotonic()
    forget = fleet.observe(note)
    try:
        with deadline(Deadline.after(seconds, now=began_at)):
            ending = await _ended(fleet, config, scope, task, seconds, close_failures)
    finally:
        forget()
    ending = _ending_of_hand_offs(ending, records)
    return Answer(
        outcome=ending.outcome,
        text=ending.text,
        message=ending.message,
        quotes=_quotes(ending.response),
        notes=(*_notes(ending.response), *close_failures),
        records=tuple(records),
        seconds=time.monotonic() - began_at,
        cause=ending.cause,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    outcome: AskOutcome
    text: str = ""
    message: str = ""
    response: Any = None  # a foreign agent's own answer
    cause: BaseException | None = None


async def _ended(
    fleet: ObservedFleet, config: FleetConfig, scope: str, task: str, seconds: float, close_failures: list[str]
) -> _Ending:
    if config.parent is None:
        assert config.entry is not None  # load_fleet: exactly one of the two
        record = await fleet.delegate(config.entry, task, timeout_seconds=seconds)
        outcome = outcome_of(record)
        if outcome is AskOutcome.DELIVERED:
            return _Ending(outcome=outcome, text=record.message)
        return _Ending(outcome=outcome, message=record.message)
    try:
        async with asyncio.timeout(seconds) as patience:
            response = await _answer_of_parent(fleet, config, scope, task, close_failures)
        answer = read_answer(response)
    except TimeoutError as error:
        if patience.expired():
            return _Ending(outcome=AskOutcome.DEADLINE, message=f"no answer within {seconds:g} s")
        return _Ending(outcome=AskOutcome.FAILED, message=failure_line(error), cause=error)  # the parent's own
    except Exception as error:
        return _Ending(outcome=AskOutcome.FAILED, message=failure_line(error), cause=error)
    if not answer.text:
        message = answer.error or f"the parent {config.parent} gave no answer"
        return _Ending(outcome=AskOutcome.FAILED, message=message, response=response)
    return _Ending(outcome=AskOutcome.DELIVERED, text=answer.text, response=response)


async def _answer_of_parent(
    fleet: ObservedFleet, config: FleetConfig, scope: str, task: str, close_failures: list[str]
) -> Any:
    parent = config.parent
    assert parent is not None  # _ended: it has asked
    identity = new_root()
    async with fleet.delegation.run_scope(depth=0, identity=identity):
        with serving(fleet):
            agent = resolve(parent)(scope, **config.parent_options)
            if inspect.isawaitable(agent):
                agent = await agent
            lifecycle = ChildLifecycle((agent,), grace_seconds=PARENT_CLOSE_SECONDS, names=(parent,))
            try:
                return await call_agent(
                    agent,
                    task,
                    scope=scope,
                    run_id=identity.run_id,
                    agent_depth=0,
                    root_run_id=identity.root_run_id,
                    parent_run_id=None,
                )
            finally:
                close_failures.extend((await lifecycle.shutdown()).failures)


def outcome_of(record: DelegationRecord) -> AskOutcome:
    """What a hand-off's record means for the question that it was made for."""
    if record.outcome.delivered:
        return AskOutcome.DELIVERED
    if record.outcome is not DelegationOutcome.CHILD_FAILED:
        return AskOutcome.REFUSED
    endings = {"timeout": AskOutcome.DEADLINE, "cancelled": AskOutcome.CANCELLED}
    return endings.get(record.reason, AskOutcome.FAILED)


def _ending_of_hand_offs(ending: _Ending, records: list[DelegationRecord]) -> _Ending:
    """An answer made of no delivered hand-off at all is no delivered answer, whatever the parent says of it."""
    outcomes = {outcome_of(record) for record in records}
    if ending.outcome is not AskOutcome.DELIVERED or not outcomes or AskOutcome.DELIVERED in outcomes:
        return ending
    outcome = outcomes.pop() if len(outcomes) == 1 else AskOutcome.FAILED
    message = f"none of {len(records)} hand-offs delivered; the last said: {records[-1].message}"
    return _Ending(outcome=outcome, text=ending.text, message=message, response=ending.response)


def _quotes(response: Any) -> tuple[Quote, ...]:
    """The quotes that a response carries; one that lacks a field is left out, as it could not be checked."""
    found = []
    for item in _listed(response, "quotes"):
        file, line, text, child = (_field(item, name) for name in ("file", "line", "text", "child"))
        if isinstance(file, str) and type(line) is int and isinstance(text, str) and isinstance(child, str):
            found.append(Quote(file=file, line=line, text=text, child=child))
    return tuple(found)


def _notes(response: Any) -> tuple[str, ...]:
    return tuple(note for note in _listed(response, "notes") if isinstance(note, str))


def _listed(response: Any, name: str) -> Iterable[Any]:
    value = _field(response, name)
    return value if isinstance(value, list | tuple) else ()


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
