"""What a process asks of the ledger of trees: seldom, and never more than it was given."""

from __future__ import annotations

import asyncio

import pytest

from symfonic_ray.admission import Lease
from symfonic_ray.cluster.leases import Leases
from symfonic_ray.delegation import DelegationOutcome
from symfonic_ray.delegation.errors import HandOffFault


class Ledger:
    """Grants up to its limit after a tick or more, and counts how often it was asked."""

    def __init__(self, limit: int, *, seconds: float = 0.0) -> None:
        self.limit = limit
        self.left = limit
        self.seconds = seconds
        self.asked: list[int] = []
        self.tokens = 0
        self.token_limit: int | None = None

    async def ask(self, root_run_id: str, wanted: int, tokens: int) -> Lease:
        self.tokens += tokens
        self.asked.append(wanted)
        await asyncio.sleep(self.seconds)
        granted = min(wanted, self.left)
        self.left -= granted
        if self.token_limit is not None and self.tokens >= self.token_limit:
            granted = 0
        return Lease(
            granted=granted, limit=self.limit, left=self.left, tokens=self.tokens, token_limit=self.token_limit
        )


async def test_those_that_wait_together_ask_once_and_the_refusal_is_remembered() -> None:
    ledger = Ledger(256)
    leases = Leases(ledger.ask)
    outcomes = await asyncio.gather(*(leases.take("root") for _ in range(300)), return_exceptions=True)
    assert [outcome is None for outcome in outcomes] == [True] * 256 + [False] * 44
    with pytest.raises(HandOffFault, match="256 hand-offs"):
        await leases.take("root")
    assert ledger.asked == [300]


async def test_a_refusal_says_which_limit_and_how_much_is_left() -> None:
    with pytest.raises(HandOffFault) as refused:
        await Leases(Ledger(0).ask).take("root")
    assert (refused.value.reason, refused.value.outcome) == ("budget", DelegationOutcome.REFUSED_BUDGET)
    assert "max_delegations" in refused.value.message
    assert "0 are left" in refused.value.message


async def test_those_that_come_while_it_asks_ask_together_afterwards() -> None:
    ledger = Ledger(100, seconds=0.02)
    leases = Leases(ledger.ask)
    first = asyncio.create_task(leases.take("root"))
    await asyncio.sleep(0.005)
    await asyncio.gather(first, *(leases.take("root") for _ in range(20)))
    assert ledger.asked == [1, 20]


async def test_what_a_cancelled_hand_off_had_asked_for_goes_to_the_next_one() -> None:
    ledger = Ledger(1, seconds=0.02)
    leases = Leases(ledger.ask)
    gone = asyncio.create_task(leases.take("root"))
    await asyncio.sleep(0.005)
    gone.cancel()
    await leases.take("root")
    assert ledger.left == 0
    with pytest.raises(HandOffFault):
        await leases.take("root")


async def test_what_was_given_back_is_used_without_asking() -> None:
    ledger = Ledger(1)
    leases = Leases(ledger.ask)
    await leases.take("root")
    leases.give_back("root")
    await leases.take("root")
    assert ledger.asked == [1]


async def test_a_ledger_that_cannot_be_asked_admits_nobody_and_is_asked_again_later() -> None:
    working = Ledger(1)
    broken = True

    async def ask(root_run_id: str, wanted: int, tokens: int) -> Lease:
        if broken:
            raise HandOffFault("controller_lost", "gone")
        return await working.ask(root_run_id, wanted, tokens)

    leases = Leases(ask)
    outcomes = await asyncio.gather(*(leases.take("root") for _ in range(3)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["controller_lost: gone"] * 3
    broken = False
    await leases.take("root")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 7}, 7),
        ({"input_tokens": 3, "output_tokens": 2}, 5),
        ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 9}, 9),
        ({"total_tokens": 90, "own": {"total_tokens": 7}}, 7),  # the rest was told by those below it
        ({"total_tokens": -4}, 0),
        ({"total_tokens": "many"}, 0),
        ({}, 0),
        (None, 0),
    ],
)
async def test_what_an_answer_used_is_told_once_and_by_its_own_part(usage: object, tokens: int) -> None:
    ledger = Ledger(5)
    leases = Leases(ledger.ask)
    leases.settle("root", usage)
    await leases.take("root")
    await asyncio.sleep(0.01)
    assert ledger.tokens == tokens
    assert sum(ledger.asked) == 1


async def test_where_tokens_are_limited_every_hand_off_asks_since_others_may_have_used_them() -> None:
    ledger = Ledger(100)
    ledger.token_limit = 10
    leases = Leases(ledger.ask, limits_tokens=True)
    await leases.take("root")
    leases.give_back("root")
    ledger.tokens = 9  # by another process
    await leases.take("root")
    leases.settle("root", {"total_tokens": 1})
    with pytest.raises(HandOffFault, match=r"10 tokens \(max_tokens\) and has used 10"):
        await leases.take("root")
    asked = len(ledger.asked)
    with pytest.raises(HandOffFault, match="max_tokens"):
        await leases.take("root")
    assert len(ledger.asked) == asked


async def test_tokens_that_the_ledger_could_not_be_told_are_told_the_next_time() -> None:
    working = Ledger(5)
    broken = True

    async def ask(root_run_id: str, wanted: int, tokens: int) -> Lease:
        if broken:
            raise HandOffFault("timeout", "no answer")
        return await working.ask(root_run_id, wanted, tokens)

    leases = Leases(ask)
    leases.settle("root", {"total_tokens": 4})
    await asyncio.sleep(0.01)
    broken = False
    await leases.take("root")
    assert working.tokens == 4
