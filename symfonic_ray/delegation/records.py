"""What a hand-off came to, as its one record. Decides the outcome from a response or a fault; runs nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from symfonic_ray.delegation.answers import read_answer
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import DelegationOutcome, DelegationRecord, HandOffFacts, HandOffReply
from symfonic_ray.kernel.text import clipped, collapsed

_NO_FACTS = HandOffFacts()


def response_record(name: object, depth: int, started: float, response: object) -> DelegationRecord:
    """The record of a child that came back.

    Args:
        name: what was asked, verbatim.
        depth: where the child ran.
        started: instant of the hand-off, seconds of ``time.perf_counter``.
        response: the child's own.
    Raises:
        HandOffFault: reason ``serialization``, for a final response that has no text.
    """
    if type(response) is HandOffReply:
        text, error, usage, facts = response.final_response.strip(), response.error, response.usage, response.facts
    else:
        answer = read_answer(response)
        text, error, usage = answer.text, answer.error, answer.usage
        facts = HandOffFacts(run_id=answer.run_id, root_run_id=answer.root_run_id, parent_run_id=answer.parent_run_id)
    if text:
        return plain_record(name, depth, started, DelegationOutcome.DELIVERED, "", text, facts=facts, usage=usage)
    words = one_line(f"agent {name!r} gave no final response" + (f": {error}" if error else ""))
    outcome, reason = DelegationOutcome.CHILD_FAILED, "no_final_response"
    return plain_record(name, depth, started, outcome, reason, words, facts=facts, usage=usage)


def fault_record(name: object, depth: int, started: float, fault: HandOffFault) -> DelegationRecord:
    """The record of a hand-off whose runner knows why it failed."""
    words = one_line(fault.message) or fault.reason
    return plain_record(name, depth, started, fault.outcome, fault.reason, words, facts=fault.facts)


def plain_record(
    name: object,
    depth: int,
    started: float,
    outcome: DelegationOutcome,
    reason: str,
    message: str,
    *,
    facts: HandOffFacts = _NO_FACTS,
    usage: Mapping[str, Any] | None = None,
) -> DelegationRecord:
    """A record that ends now."""
    return DelegationRecord(
        name=name,
        outcome=outcome,
        depth=depth,
        message=message,
        run_id=facts.run_id,
        root_run_id=facts.root_run_id,
        parent_run_id=facts.parent_run_id,
        reason=reason,
        usage=usage,
        seconds=time.perf_counter() - started,
        scope_key=facts.scope_key,
        generation=facts.generation,
        fresh=facts.fresh,
        queue_position=facts.queue_position,
    )


def one_line(text: str) -> str:
    """``text`` as one line of at most 4 KiB."""
    return clipped(collapsed(text[: 4 * 4096]))
