"""The benchmark's own arithmetic: turns, ratios, names, table, picture, and what /proc says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from symfonic_ray.bench.catalogue import catalogue, chosen
from symfonic_ray.bench.chart import chart
from symfonic_ray.bench.comparison import Comparison, Spread, in_turns
from symfonic_ray.bench.fan_outs import ideal_seconds
from symfonic_ray.bench.processes import cpu_seconds, parent_pid, proportional_bytes, resident_bytes, titled
from symfonic_ray.bench.round_trips import _rate_and_cpu
from symfonic_ray.bench.table import table

PROMISED = {
    "round_trip_1",
    "throughput_32",
    "throughput_256",
    "cpu_per_item_256",
    "fan_out_8_echo",
    "fan_out_8_sleep",
    "fan_out_8_sleep_vs_ideal",
    "cold_start",
    "idle_tenant_memory",
    "growth",
    "array_10mb",
}
_SVG = "{http://www.w3.org/2000/svg}"


def test_every_promised_key_has_a_work_item_and_no_two_items_share_one() -> None:
    keys = [key for item in catalogue() for key in item.keys]
    assert set(keys) >= PROMISED
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["throughput"], ["throughput_32", "throughput_256", "cpu_per_item_256"]),
        (["cpu_per_item_256"], ["throughput_256", "cpu_per_item_256"]),
        (["growth", "round_trip_1"], ["round_trip_1", "growth"]),
    ],
    ids=["a group", "a key that comes with another", "in the order of the catalogue"],
)
def test_a_name_chooses_a_group_or_a_key(names: list[str], keys: list[str]) -> None:
    assert [key for item in chosen(names, catalogue()) for key in item.keys] == keys


def test_no_names_choose_everything() -> None:
    items = catalogue()
    assert chosen([], items) == items


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="did you mean throughput_32"):
        chosen(["throughput_33"], catalogue())


async def test_both_sides_are_measured_in_turns_and_the_first_round_counts_for_nothing() -> None:
    order: list[str] = []

    async def ours() -> int:
        order.append("ours")
        return order.count("ours")

    async def theirs() -> int:
        order.append("raw")
        return order.count("raw")

    assert await in_turns(3, ours, theirs) == ([2, 3, 4], [2, 3, 4])
    assert order == ["raw", "ours", "ours", "raw", "raw", "ours", "ours", "raw"]


def test_a_ratio_is_ours_by_theirs_round_by_round() -> None:
    compared = Comparison(ours=[2.0, 9.0, 4.0], raw_ray=[1.0, 3.0, 8.0], unit="s")
    assert compared.ratio == Spread(least=0.5, median=2.0, greatest=3.0)
    assert compared.as_dict(ideal=1.0) == {
        "ratio": [0.5, 2.0, 3.0],
        "ours": [2.0, 9.0, 4.0],
        "raw_ray": [1.0, 3.0, 8.0],
        "unit": "s",
        "ideal": 1.0,
    }


def test_a_ratio_to_the_ideal_leaves_theirs_out() -> None:
    compared = Comparison(ours=[2.0, 3.0], raw_ray=[50.0, 50.0], unit="s", per=[2.0, 2.0])
    assert compared.ratio.as_list() == [1.0, 1.25, 1.5]


@pytest.mark.parametrize(
    ("kind", "tasks", "in_flight", "cores", "seconds"),
    [
        ("echo", 2000, 512, 2, 0.0),
        ("sleep", 2000, 512, 2, 0.2),
        ("sleep", 100, 512, 2, 0.05),
        ("cpu", 2000, 512, 2, 2.0),
    ],
    ids=["nothing", "waiting, in four rounds", "waiting, at once", "computing"],
)
def test_the_ideal_is_the_work_alone(kind: str, tasks: int, in_flight: int, cores: int, seconds: float) -> None:
    assert ideal_seconds(kind, tasks, in_flight=in_flight, cores=cores) == pytest.approx(seconds)


FOUND: dict[str, Any] = {
    "schema_version": 1,
    "about": {"cores": 2},
    "round_trip_1": {"ratio": [0.9, 1.1, 1.2], "ours": [0.0011], "raw_ray": [0.001], "unit": "s"},
    "throughput_256": {"ratio": [10.0, 20.0, 30.0], "ours": [20_000.0], "raw_ray": [1_000.0], "unit": "/s"},
    "fan_out_8_sleep_vs_ideal": {"ratio": [1.1, 1.2, 1.3], "ours": [0.24], "raw_ray": [1.6], "unit": "s", "ideal": 0.2},
    "growth": [{"tasks": 100, "seconds_per_task": 5e-5, "driver_rss_mb": 120.5}],
    "array_10mb": {"not_built": "arrays do not travel"},
    "cold_start": {"error": "TimeoutError"},
}


def test_the_table_shows_every_key_with_its_numbers_or_why_there_are_none() -> None:
    lines = table(FOUND).splitlines()
    assert any(line.split() == ["round_trip_1", "0.9", "1.1", "1.2", "1.1", "ms", "1", "ms"] for line in lines)
    assert any(line.split()[-4:] == ["20,000", "/s", "1,000", "/s"] for line in lines)
    assert "fan_out_8_sleep_vs_ideal: ideal 0.2" in lines
    assert "growth: tasks 100, seconds_per_task 5e-05, driver_rss_mb 120.5" in lines
    assert "array_10mb: not built: arrays do not travel" in lines
    assert "cold_start: error: TimeoutError" in lines


def test_a_table_of_nothing_but_a_note_has_no_head() -> None:
    assert table({"array_10mb": {"not_built": "no"}}) == "array_10mb: not built: no"


def test_the_chart_is_a_picture_in_which_a_better_ratio_is_a_longer_bar() -> None:
    picture = ElementTree.fromstring(chart(FOUND))
    assert picture.tag == f"{_SVG}svg"
    labels = [text.text for text in picture.iter(f"{_SVG}text")]
    assert {"round_trip_1", "throughput_256", "20"} <= set(labels)
    assert "fan_out_8_sleep_vs_ideal" not in labels
    _, lone, many = (float(bar.get("width", "0").rstrip("%")) for bar in picture.iter(f"{_SVG}rect"))
    assert 0 < lone < many


def test_a_chart_of_nothing_is_still_a_picture() -> None:
    assert ElementTree.fromstring(chart({})).tag == f"{_SVG}svg"


def test_cpu_seconds_count_what_a_process_has_used() -> None:
    before = cpu_seconds([os.getpid()])
    ends_at = time.process_time() + 0.3
    while time.process_time() < ends_at:
        pass
    assert cpu_seconds([os.getpid()]) - before == pytest.approx(0.3, abs=0.1)


def test_memory_that_is_taken_is_seen_and_shared_pages_count_by_part() -> None:
    before = resident_bytes(os.getpid())
    taken = bytearray(os.urandom(1 << 20)) * 40
    assert resident_bytes(os.getpid()) - before > 30 << 20
    assert 30 << 20 < proportional_bytes([os.getpid()]) <= resident_bytes(os.getpid())
    assert len(taken) == 40 << 20


def test_a_process_is_found_by_its_title_and_knows_its_parent(tmp_path: Path) -> None:
    title = tmp_path / "oddly-named-program"
    title.symlink_to(sys.executable)
    command = [str(title), "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert titled(str(title)) == {process.pid}
        assert parent_pid(process.pid) == os.getpid()
        process.communicate(b"\n", timeout=20)
    assert titled(str(title)) == set()


async def test_cpu_a_task_is_that_of_the_caller_and_the_hosts() -> None:
    async def work() -> int:
        ends_at = time.process_time() + 0.2
        while time.process_time() < ends_at:
            pass
        return 10

    rate, cpu = await _rate_and_cpu(work, [])
    assert cpu == pytest.approx(0.02, rel=0.5)
    assert 0 < rate <= 50
