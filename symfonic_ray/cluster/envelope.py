"""What crosses to a host and back: a sealed batch of hand-offs, and its replies. Knows no actor and no transport.

A batch is one header and a row for each hand-off, as JSON bytes under ONE seal, strictly validated ONCE where it
arrives. Depth and lineage are read as they stand or refused: a malformed depth read as 0 would lift the ceiling.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from symfonic_ray.cluster.wire_text import from_wire, to_wire

WIRE_VERSION = 1
SEAL_BYTES = hashlib.sha256().digest_size
BATCH_ITEMS = 256  # dispatch-notes 2e: throughput is flat past it
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

_RunId = Annotated[str, Field(min_length=1, max_length=128)]
_TRACEPARENT = r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"
_Depth = Annotated[int, Field(ge=1, le=10_000)]


class EnvelopeError(ValueError):
    """A batch or reply that is refused before any child's code runs; ``reason`` is a code of the closed set."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(reason, problem)
        self.reason, self.problem = reason, problem

    def __str__(self) -> str:
        return f"the envelope was refused: {self.problem}"


@dataclass(slots=True)
class Address:
    """Which child of which scope, in which of its lives."""

    scope_key: str
    child: str
    generation: int


@dataclass(slots=True)
class HandOffRow:
    """One hand-off on its way to a child."""

    call_id: str
    task: str
    agent_depth: int
    run_id: str
    root_run_id: str
    parent_run_id: str | None
    ancestors: tuple[str, ...]
    """Run ids above this one, root first."""
    seconds_left: float | None
    """Never an instant: clocks of two machines differ. None without a deadline."""
    traceparent: str | None = None
    """The caller's span, where it records one."""


@dataclass(slots=True)
class ReplyRow:
    """What became of one hand-off, as the host saw it."""

    call_id: str
    final_response: str = ""
    reason: str = ""
    """A code of the closed set; empty when the child answered."""
    failure: str = ""
    """One line about the failure; empty when the child answered."""
    run_id: str = ""
    root_run_id: str = ""
    parent_run_id: str | None = None
    usage: dict[str, Any] | None = None
    delegated_to: tuple[str, ...] = ()
    fresh: bool = False
    seconds: float = 0.0
    """Seconds in the host, waiting for a turn included."""
    records: tuple[dict[str, Any], ...] = ()
    """Records of hand-offs that the child made itself, and those below them."""


class _Batch(NamedTuple):
    version: int
    scope_key: str
    child: str
    generation: int
    rows: Annotated[
        list[
            tuple[
                Annotated[str, Field(min_length=1, max_length=64)],
                str,
                _Depth,
                _RunId,
                _RunId,
                _RunId | None,
                Annotated[tuple[_RunId, ...], Field(max_length=10_000)],
                Annotated[float, Field(ge=0)] | None,
                Annotated[str, Field(pattern=_TRACEPARENT)] | None,
            ]
        ],
        Field(min_length=1, max_length=BATCH_ITEMS),
    ]


class _Replies(NamedTuple):
    version: int
    scope_key: str
    child: str
    generation: int
    rows: list[
        tuple[
            str,
            str,
            str,
            str,
            str,
            str,
            str | None,
            dict[str, JsonValue] | None,
            tuple[str, ...],
            bool,
            float,
            tuple[dict[str, JsonValue], ...],
        ]
    ]


_BATCH: TypeAdapter[_Batch] = TypeAdapter(_Batch, config=_STRICT)
_REPLIES: TypeAdapter[_Replies] = TypeAdapter(_Replies, config=_STRICT)
_REPLY_FIELDS = attrgetter(*(field.name for field in fields(ReplyRow)))  # astuple copies deeply: ten times the cost


def seal_batch(address: Address, rows: list[HandOffRow], *, key: bytes) -> bytes:
    """Bytes of a batch: the seal of all that follows it, then JSON."""
    body = to_json(
        (
            WIRE_VERSION,
            address.scope_key,
            address.child,
            address.generation,
            [
                (
                    row.call_id,
                    to_wire(row.task),
                    row.agent_depth,
                    row.run_id,
                    row.root_run_id,
                    row.parent_run_id,
                    row.ancestors,
                    row.seconds_left,
                    row.traceparent,
                )
                for row in rows
            ],
        )
    )
    return hmac.digest(key, body, "sha256") + body


def open_batch(data: object, *, key: bytes) -> tuple[Address, list[HandOffRow]]:
    """The address and rows of a sealed batch.

    Raises:
        EnvelopeError: ``scope_mismatch`` for a broken seal, ``serialization`` for anything malformed.
    """
    if not isinstance(data, bytes) or len(data) <= SEAL_BYTES:
        raise EnvelopeError("serialization", "it is no sealed batch of bytes")
    body = data[SEAL_BYTES:]
    if not hmac.compare_digest(hmac.digest(key, body, "sha256"), data[:SEAL_BYTES]):
        raise EnvelopeError("scope_mismatch", "its seal does not fit: it was made for another pool, or changed")
    try:
        batch = _BATCH.validate_json(body)
    except ValidationError as error:
        raise EnvelopeError("serialization", _first_problem(error)) from None
    if batch.version != WIRE_VERSION:
        raise EnvelopeError("serialization", f"it is of wire version {batch.version}; this host reads {WIRE_VERSION}")
    rows = [HandOffRow(*row) for row in batch.rows]
    for row in rows:
        row.task = from_wire(row.task)
        _check_lineage(row)
    return Address(batch.scope_key, batch.child, batch.generation), rows


def pack_replies(address: Address, rows: list[ReplyRow]) -> bytes:
    """JSON bytes of replies; no seal, since they return on the call that asked.

    A row whose usage or records cannot be packed goes without them: its neighbours and its own answer still arrive.
    """
    head = (WIRE_VERSION, address.scope_key, address.child, address.generation)
    plain = [_reply_cells(row) for row in rows]
    try:
        return to_json((*head, plain), inf_nan_mode="null")
    except (ValueError, RecursionError):
        return to_json((*head, [_packable(cells) for cells in plain]), inf_nan_mode="null")


def _reply_cells(row: ReplyRow) -> list[Any]:
    cells = list(_REPLY_FIELDS(row))
    cells[1], cells[3] = to_wire(row.final_response), to_wire(row.failure)
    return cells


def _packable(cells: list[Any]) -> list[Any]:
    """The cells as they are, or without usage, names and records where those cannot be packed."""
    try:
        to_json(cells, inf_nan_mode="null")
    except (ValueError, RecursionError):
        return [*cells[:7], None, (), *cells[9:11], ()]
    return cells


def open_replies(data: object, *, address: Address) -> list[ReplyRow]:
    """The replies of a batch that was sent to ``address``.

    Raises:
        EnvelopeError: ``serialization`` when malformed, ``scope_mismatch`` when it answers for another address.
    """
    if not isinstance(data, bytes):
        raise EnvelopeError("serialization", f"the reply is {type(data).__name__}, not bytes")
    try:
        replies = _REPLIES.validate_json(data)
    except ValidationError as error:
        raise EnvelopeError("serialization", _first_problem(error)) from None
    if Address(replies.scope_key, replies.child, replies.generation) != address:
        raise EnvelopeError("scope_mismatch", "the reply speaks for another child, scope or generation")
    rows = [ReplyRow(*row) for row in replies.rows]
    for row in rows:
        row.final_response, row.failure = from_wire(row.final_response), from_wire(row.failure)
    return rows


def _check_lineage(row: HandOffRow) -> None:
    """Lineage that cannot be: more ancestors than the depth allows, or a parent and root that do not lead here."""
    if len(row.ancestors) > row.agent_depth + 1:
        raise EnvelopeError("serialization", f"depth {row.agent_depth} does not fit {len(row.ancestors)} ancestors")
    if row.ancestors and (row.ancestors[-1] != row.parent_run_id or row.ancestors[0] != row.root_run_id):
        raise EnvelopeError("serialization", "its ancestors do not lead from its root to its parent")
    if row.run_id in row.ancestors:
        raise EnvelopeError("serialization", "a run cannot be its own ancestor")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"at {'.'.join(str(part) for part in first['loc']) or 'the top'}: {first['msg']}"
