"""``symfonic-ray bench`` on a real Ray, in tiny sizes: the form of what it gives, never its speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from symfonic_ray.cli import main
from symfonic_ray.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
NAMES = ["round_trip_1", "throughput_256", "fan_out_2_sleep", "cold_start", "idle_tenant_memory", "growth", "arrays"]


def check_comparison(value: dict[str, Any]) -> None:
    low, middle, high = value["ratio"]
    assert 0 < low <= middle <= high
    assert len(value["ours"]) == len(value["raw_ray"]) == 1
    assert all(number > 0 for number in (*value["ours"], *value["raw_ray"]))


@pytest.mark.timeout(300)
def test_a_tiny_run_gives_every_chosen_key_in_its_form(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    files = ["--json", str(tmp_path / "bench.json"), "--chart", str(tmp_path / "bench.svg")]
    done = subprocess.run(
        [sys.executable, "-m", "symfonic_ray.cli", "bench", *NAMES, "--quick", *files],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode == ExitCode.DELIVERED, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["schema_version"] == 1
    assert found["about"]["quick"] is True
    for key in ("round_trip_1", "throughput_256", "cpu_per_item_256", "fan_out_2_sleep", "cold_start"):
        check_comparison(found[key])
    check_comparison(found["idle_tenant_memory"])
    assert isinstance(found["idle_tenant_memory"]["passivated_bytes"], int | float)
    against = found["fan_out_2_sleep_vs_ideal"]
    assert against["ratio"][0] == pytest.approx(against["ours"][0] / against["ideal"], rel=1e-3)
    assert against["ratio"][0] >= 0.99
    assert [set(row) for row in found["growth"]] == [{"tasks", "seconds_per_task", "driver_rss_mb"}] * 2
    assert "not_built" in found["array_10mb"]
    assert "throughput_32" not in found
    for key in ("round_trip_1", "cpu_per_item_256", "growth", "array_10mb"):
        assert key in done.stdout
    ElementTree.fromstring((tmp_path / "bench.svg").read_text())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["throughput_33"], "did you mean throughput_32"),
        (["--rounds", "4"], "--rounds"),
        (["--json", "none/bench.json"], "does not exist"),
        (["--chart", "none/bench.svg"], "does not exist"),
    ],
    ids=["an unknown name", "too few rounds", "no folder for the JSON", "no folder for the chart"],
)
def test_a_request_that_makes_no_sense_is_refused_before_ray_starts(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *arguments]) == ExitCode.USAGE
    assert words in " ".join(capfd.readouterr().err.split())


def test_an_address_where_nothing_answers_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "round_trip_1", "--quick", "--address", "127.0.0.1:1"]) == ExitCode.UNREACHABLE
    assert "127.0.0.1:1" in capfd.readouterr().err
