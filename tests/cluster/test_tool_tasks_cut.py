"""What tool tasks decide without Ray: the cut of a batch, the size of results, and the words of a loss."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray import exceptions as ray_exceptions

from symfonic_ray.cluster.tool_arguments import packed_arguments, plain_words, references_in, resolved
from symfonic_ray.cluster.tool_cut import CHUNK_CALLS, SHARE_TURNS, Cut, chunked, even_bounds, shares
from symfonic_ray.cluster.tool_loss import loss
from symfonic_ray.cluster.tool_machines import Machines
from symfonic_ray.cluster.tool_result import WithheldValue, cut_text, packed_value, unpacked_value
from symfonic_ray.execution import OUTCOME_REASONS

RAY: Any = ray_exceptions  # its constructors have no types


@given(st.integers(0, 500), st.integers(1, 64))
def test_even_bounds_cover_everything_once_and_differ_by_one_at_most(count: int, parts: int) -> None:
    bounds = even_bounds(count, parts)
    assert [place for start, end in bounds for place in range(start, end)] == list(range(count))
    lengths = {end - start for start, end in bounds}
    assert not lengths or max(lengths) - min(lengths) <= 1
    assert len(bounds) == min(parts, count)


@pytest.mark.parametrize(
    ("count", "slots", "in_flight", "widths"),
    [
        (0, 2, 16, []),
        (1, 2, 16, [1]),
        (8, 2, 16, [8]),
        (9, 2, 16, [4, 5]),
        (64, 2, 16, [8, 8]),
        (64, 2, 64, [32, 32]),
        (64, 100, 64, [8] * 8),
        (64, 3, 16, [5, 5, 5]),
        (3, 4, 1, [1]),
        (64, 1, 1, [1, 1, 1, 1]),
    ],
)
def test_shares_are_as_many_as_slots_but_none_for_a_handful_of_calls(
    count: int, slots: int, in_flight: int, widths: list[int]
) -> None:
    assert [share.width for share in shares(count, slots=slots, in_flight=in_flight)] == widths


@given(st.integers(0, 3000), st.integers(1, 40), st.integers(1, 70))
def test_shares_hold_every_call_once_and_those_at_once_keep_to_the_bound(
    count: int, slots: int, in_flight: int
) -> None:
    found = shares(count, slots=slots, in_flight=in_flight)
    assert [place for share in found for place in range(share.start, share.end)] == list(range(count))
    assert sum(share.width for share in found[: min(slots, in_flight)]) <= in_flight
    assert all(1 <= share.width <= share.end - share.start <= share.width * SHARE_TURNS for share in found)


@given(st.lists(st.sampled_from([None, Cut("a", 1), Cut("b", 3)]), max_size=300))
def test_a_cut_holds_every_call_once_in_order_and_never_mixes_tools(cuts: list[Cut | None]) -> None:
    chunks = chunked(cuts)
    assert sorted(place for chunk in chunks for place in chunk) == list(range(len(cuts)))
    assert all(list(chunk) == sorted(chunk) for chunk in chunks)
    assert list(chunks) == sorted(chunks)
    assert all(len({cuts[place] for place in chunk}) == 1 for chunk in chunks)
    assert all(len(chunk) == 1 for chunk in chunks if cuts[chunk[0]] is None)
    assert all(len(chunk) <= CHUNK_CALLS for chunk in chunks)


@pytest.mark.parametrize(("count", "chunks"), [(7, 7), (8, 2), (64, 2), (129, 3)])
def test_an_idempotent_tool_is_chunked_from_four_calls_a_slot_on(count: int, chunks: int) -> None:
    assert len(chunked([Cut("a", 2)] * count)) == chunks


@pytest.mark.parametrize(
    ("text", "limit", "head"),
    [("x" * 100, 10, "x" * 10), ("ä" * 50, 9, "ä" * 4), ("\ud800" * 40, 10, "")],
    ids=["ascii", "two bytes each", "surrogates"],
)
def test_a_long_text_is_cut_at_a_character_with_a_mark_that_tells_its_size(text: str, limit: int, head: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    shown = cut_text(text, limit_bytes=limit)
    assert shown == f"{head}\n... (cut: the whole result has {size} bytes, {limit} are allowed)"


@pytest.mark.parametrize("text", ["", "x" * 10, "ä" * 5])
def test_a_text_within_the_limit_is_left_as_it_is(text: str) -> None:
    assert cut_text(text, limit_bytes=10) is text


class Torn:
    """A value that can be pickled but not read again."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return int, ("no number",)


class Spiteful:
    """A value that ends whoever pickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise SystemExit(3)


@pytest.mark.parametrize("value", [None, 0, "größe", b"x", [1, {"a": (2,)}], 1.5])
def test_a_value_within_the_limit_comes_back(value: Any) -> None:
    back = unpacked_value(packed_value(value, limit_bytes=1000))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("value", "kind", "has_size"),
    [("x" * 2000, "str", True), (Spiteful(), "Spiteful", False), (Torn(), "unknown", True)],
    ids=["too large", "raises when pickled", "raises when read"],
)
def test_a_value_that_cannot_come_back_is_stood_for(value: Any, kind: str, has_size: bool) -> None:
    stand_in = unpacked_value(packed_value(value, limit_bytes=1000))
    assert isinstance(stand_in, WithheldValue)
    assert (stand_in.kind, stand_in.size_bytes is not None) == (kind, has_size)
    assert stand_in.why


class Pair(NamedTuple):
    first: Any
    second: Any


def test_arguments_without_references_are_handed_back_as_they_are() -> None:
    inner = [1, {"a": {2}}]
    args = {"x": Pair(inner, (3,)), "y": inner}
    assert not references_in(args)
    same = asyncio.run(resolved(args))
    assert same["x"] is args["x"]
    assert same["y"] is inner


def test_arguments_that_share_a_part_many_times_are_read_in_no_time() -> None:
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert not references_in({"x": shared})
    assert pickle.loads(packed_arguments({"x": 1})) == {"x": 1}


def test_arguments_of_any_kind_are_pickled() -> None:
    args = {"array": np.arange(3), "function": lambda: 5, "plain": [1, None]}
    back = pickle.loads(packed_arguments(args))
    assert (back["array"].tolist(), back["function"](), back["plain"]) == ([0, 1, 2], 5, [1, None])


@pytest.mark.parametrize(
    ("error", "reason", "died"),
    [
        (RAY.WorkerCrashedError(), "worker_died", True),
        (RAY.NodeDiedError("x"), "worker_died", True),
        (RAY.OutOfMemoryError("x"), "out_of_memory", True),
        (RAY.TaskUnschedulableError("x"), "infeasible", False),
        (RAY.RayTaskError("run", "five\nlines", ValueError("mine")), "dispatch_failed", False),
        (RAY.RaySystemError(OSError("x")), "dispatch_failed", False),
        (OSError("gone"), "dispatch_failed", False),
        (None, "dispatch_failed", False),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_loss_has_a_reason_of_the_closed_set_and_one_line_of_ours(
    error: Exception | None, reason: str, died: bool
) -> None:
    found = loss(error, "search")
    assert (found.reason, found.died) == (reason, died)
    assert found.reason in OUTCOME_REASONS
    assert "search" in found.words
    assert len(found.words.splitlines()) == 1


def test_a_call_whose_process_was_ended_for_its_limit_is_a_timeout_whatever_ray_says() -> None:
    assert loss(RAY.TaskCancelledError(), "search", overran=2.5).reason == "timeout"
    assert "2.5 seconds" in loss(None, "search", overran=2.5).words


def test_ray_s_traceback_is_not_in_plain_words() -> None:
    assert plain_words(RAY.RayTaskError("run", "five\nlines", ValueError("mine"))) == "ValueError: mine"
    assert plain_words(RAY.RaySystemError(OSError("x"))) == "RaySystemError"


@pytest.mark.parametrize(
    ("needs", "lacks"),
    [
        ({}, ""),
        ({"CPU": 4.0}, ""),
        ({"CPU": 8.0}, "no machine of the cluster has 8 cores"),
        ({"CPU": 4.0, "GPU": 1.0}, "no machine of the cluster has 4 cores and 1 GPUs"),
        ({"telescope": 1.0}, "no machine of the cluster has 1 telescope"),
    ],
)
def test_needs_are_held_against_each_machine_and_not_against_their_sum(needs: dict[str, float], lacks: str) -> None:
    machines = Machines(({"CPU": 4.0}, {"CPU": 2.0, "GPU": 1.0}))
    assert machines.cores == 6.0
    assert machines.lacking(needs) == lacks
