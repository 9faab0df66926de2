"""What is given to a journal is found in it: states, rows, their order, and what may not be given."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic_ray.delegation import DelegationOutcome, DelegationRecord
from symfonic_ray.journal import AlreadyDeliveredError, JobIdentity, JournalClosedError, RunJournal
from tests.journal.conftest import JOB, answer, contents, deliver, failure


async def test_a_new_journal_knows_of_no_item(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        state = journal.state()
        assert not state.delivered | state.failed | state.unknown
        assert [row async for row in journal.rows()] == []


async def test_items_are_delivered_failed_or_unknown_also_after_opening_again(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 0, 7)
        await journal.started(3, "digest", "call")
        await journal.started(4, "digest", "call")
        await journal.ended(4, failure())
        live = journal.state()
    kept, _ = await contents(path)
    for state in (live, kept):
        assert (list(state.delivered), list(state.failed), list(state.unknown)) == ([0, 7], [4], [3])


async def test_a_result_comes_back_as_it_was_given(path: Path) -> None:
    record = DelegationRecord(
        name="reader",
        outcome=DelegationOutcome.DELIVERED,
        depth=1,
        message="é, \0, \x1b[31m, \ud800 and \U0001f600",
        usage={"tokens": 3},
        seconds=0.25,
    ).as_dict()
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(5, "a digest", "a call")
        await journal.ended(5, record)
    _, (row,) = await contents(path)
    assert (row.index, row.task_digest, row.call_id) == (5, "a digest", "a call")
    assert row.record == record


async def test_rows_come_in_the_order_of_their_index_whatever_the_order_of_their_end(path: Path) -> None:
    order = [number * 389 % 1000 for number in range(1000)]
    async with RunJournal.open(path, job=JOB) as journal:
        await asyncio.gather(*(journal.ended(index, answer(index)) for index in order))
        rows = [row async for row in journal.rows()]
    assert [row.index for row in rows] == list(range(1000))
    assert all(row.record == answer(row.index) for row in rows)


async def test_rows_of_large_results_come_a_few_at_a_time(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        for index in range(5):
            await journal.ended(index, answer(index, size=900_000))
        sizes = [len(await journal._writer.ask(lambda ledger: ledger.results(-1)))]  # white box: what is held at once
        assert [row.index async for row in journal.rows()] == [0, 1, 2, 3, 4]
    assert sizes == [2]


async def test_rows_leave_out_what_has_not_ended(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(1, "digest", "call")
        await deliver(journal, 2)
        assert [row.index async for row in journal.rows()] == [2]


async def test_an_item_may_end_without_a_start(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.ended(9, {"outcome": "refused_overload", "reason": "overload"})
        (row,) = [row async for row in journal.rows()]
        assert (row.task_digest, row.call_id, list(journal.state().failed)) == ("", "", [9])


async def test_a_failed_item_that_starts_again_is_unknown_until_it_ends(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(1, "digest", "first")
        await journal.ended(1, failure())
        await journal.started(1, "digest", "second")
    async with RunJournal.open(path, job=JOB) as journal:
        assert (list(journal.state().failed), list(journal.state().unknown)) == ([], [1])
        await journal.ended(1, answer(1))
    state, (row,) = await contents(path)
    assert (list(state.delivered), list(state.unknown), row.call_id) == ([1], [], "second")


async def test_an_item_of_unknown_outcome_may_be_started_again(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(1, "digest", "first")
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(1, "digest", "second")
        await journal.ended(1, answer(1))
    _, (row,) = await contents(path)
    assert row.call_id == "second"


async def test_a_delivered_item_is_neither_started_nor_ended_again(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    async with RunJournal.open(path, job=JOB) as journal:
        with pytest.raises(AlreadyDeliveredError, match="item 1 is delivered"):
            await journal.started(1, "digest", "again")
        with pytest.raises(AlreadyDeliveredError):
            await journal.ended(1, answer(1))
        with pytest.raises(AlreadyDeliveredError):
            await journal.ended(1, failure())
        (row,) = [row async for row in journal.rows()]
        assert row.call_id == "call 1"


async def test_two_deliveries_at_once_are_one_delivery_and_one_refusal(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        given = await asyncio.gather(journal.ended(1, answer(1)), journal.ended(1, answer(2)), return_exceptions=True)
        assert [type(one) for one in given] == [type(None), AlreadyDeliveredError]
        (row,) = [row async for row in journal.rows()]
        assert row.record == answer(1)


@pytest.mark.parametrize("index", [-1, 1000, 2**63, True, 1.0, "1", None], ids=repr)
async def test_an_index_that_the_job_cannot_have_is_refused(path: Path, index: Any) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        with pytest.raises(ValueError, match="the index is"):
            await journal.started(index, "digest", "call")
        with pytest.raises(ValueError, match="the index is"):
            await journal.ended(index, answer(0))


async def test_without_a_total_every_number_that_sqlite_can_hold_is_an_index(path: Path) -> None:
    async with RunJournal.open(path, job=JobIdentity("f", "c", "d")) as journal:
        await journal.ended(2**63 - 1, answer(1))
        with pytest.raises(ValueError, match="the index is"):
            await journal.ended(2**63, answer(1))
        assert [row.index async for row in journal.rows()] == [2**63 - 1]


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"outcome": "splendid"},
        {"outcome": "delivered", "message": object()},
        {"outcome": "delivered", "x": float("nan")},
    ],
    ids=["no outcome", "an unknown outcome", "not JSON", "not a number"],
)
async def test_a_record_that_cannot_be_kept_is_refused_and_the_item_stays_as_it_was(
    path: Path, record: dict[str, Any]
) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await journal.started(1, "digest", "call")
        with pytest.raises((KeyError, TypeError, ValueError)):
            await journal.ended(1, record)
        assert list(journal.state().unknown) == [1]
        await journal.ended(1, answer(1))


async def test_text_that_cannot_be_stored_is_refused_before_anything_is_written(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        for digest, call_id in (("\ud800", "call"), ("digest", "\ud800")):
            with pytest.raises(ValueError, match="surrogate"):
                await journal.started(1, digest, call_id)
        assert not journal.state().unknown


async def test_a_record_is_read_when_it_is_given(path: Path) -> None:
    record = answer(1)
    async with RunJournal.open(path, job=JOB) as journal:
        ending = asyncio.ensure_future(journal.ended(1, record))
        await asyncio.sleep(0)
        record["message"] = "changed since"
        await ending
    _, (row,) = await contents(path)
    assert row.record == answer(1)


async def test_a_state_is_a_copy(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        before = journal.state()
        await deliver(journal, 1)
        assert list(before.delivered) == []
        journal.state().delivered.add(2)
        assert list(journal.state().delivered) == [1]


async def test_a_closed_journal_takes_and_gives_nothing_but_its_last_state(path: Path) -> None:
    async with RunJournal.open(path, job=JOB) as journal:
        await deliver(journal, 1)
    with pytest.raises(JournalClosedError, match="open it again"):
        await journal.started(2, "digest", "call")
    with pytest.raises(JournalClosedError):
        await journal.ended(2, answer(2))
    with pytest.raises(JournalClosedError):
        await anext(journal.rows())
    assert list(journal.state().delivered) == [1]


STEPS = st.lists(st.tuples(st.sampled_from(["start", "deliver", "fail", "reopen"]), st.integers(0, 5)), max_size=25)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_whatever_is_done_an_opening_finds_what_a_plain_model_holds(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("model") / "run.journal"
    asyncio.run(follow(path, steps))
    os.unlink(path)


async def follow(path: Path, steps: list[tuple[str, int]]) -> None:
    started: set[int] = set()
    records: dict[int, dict[str, Any]] = {}
    delivered: set[int] = set()
    journal = await RunJournal.open(path, job=JOB)
    for act, index in steps:
        if act == "reopen":
            await journal.aclose()
            journal = await RunJournal.open(path, job=JOB)
        elif index in delivered:
            with pytest.raises(AlreadyDeliveredError):
                await journal.started(index, "digest", "call")
        elif act == "start":
            await journal.started(index, "digest", "call")
            started.add(index)
            records.pop(index, None)
        else:
            records[index] = answer(index) if act == "deliver" else failure()
            await journal.ended(index, records[index])
            started.discard(index)
            if act == "deliver":
                delivered.add(index)
        state = journal.state()
        assert (set(state.delivered), set(state.unknown)) == (delivered, started)
        assert set(state.failed) == records.keys() - delivered
        assert {row.index: row.record async for row in journal.rows()} == records
    await journal.aclose()
