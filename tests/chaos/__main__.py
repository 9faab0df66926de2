"""Measure the promises on a real Ray and print them as a table. Exit code: 0 when all are kept, 1 when one is not."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray

from tests.chaos.promises import PROMISES
from tests.chaos.stage import Measured, Promise, Stage

COLUMNS = (4, 40, 44)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of every drawn kill, task and forgery (default 0)")
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="no measurement starts later than this (default 10)"
    )
    parser.add_argument("--only", default="", help="these alone, such as P1,P4")
    parser.add_argument("--short", action="store_true", help="the small sizes of the test suite")
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    asked = parser.parse_args()
    wanted = {name.strip().upper() for name in asked.only.split(",") if name.strip()}
    if unknown := wanted - {promise.name for promise in PROMISES}:
        parser.error(f"no promise is called {', '.join(sorted(unknown))}; there are P1 to P{len(PROMISES)}")
    chosen = [promise for promise in PROMISES if not wanted or promise.name in wanted]
    os.environ.setdefault("RAY_worker_niceness", "0")
    print(
        f"seed {asked.seed}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; starting a local Ray ...",
        flush=True,
    )
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        rows = asyncio.run(_measured(chosen, asked.seed, not asked.short, asked.minutes))
    finally:
        ray.shutdown()
    kept = sum(row["kept"] is True for row in rows)
    print(f"{kept} of {len(rows)} kept; load {os.getloadavg()[0]:.1f} at the end")
    if asked.json is not None:
        asked.json.write_text(
            json.dumps({"seed": asked.seed, "whole": not asked.short, "promises": rows}, indent=1) + "\n"
        )
    return 0 if kept == len(rows) else 1


async def _measured(chosen: list[Promise], seed: int, whole: bool, minutes: float) -> list[dict[str, Any]]:
    began = time.monotonic()
    rows = []
    print(_line("", "promise", "bar", "measured"))
    with tempfile.TemporaryDirectory(prefix="symfonic-ray-chaos-") as folder:
        for promise in chosen:
            started = time.monotonic()
            if started - began > minutes * 60:
                seen = Measured(f"NOT MEASURED: {minutes:g} minutes were over; give --minutes or --only", False)
            else:
                place = Path(folder) / promise.name
                place.mkdir()
                seen = await _one(promise, Stage(seed, whole, place))
            seconds = time.monotonic() - started
            verdict = "pass" if seen.kept else "FAIL"
            print(
                _line(promise.name, promise.text, promise.bar, f"{verdict}: {seen.figure} [{seconds:.0f} s]"),
                flush=True,
            )
            rows.append(
                {
                    "promise": promise.name,
                    "text": promise.text,
                    "bar": promise.bar,
                    "measured": seen.figure,
                    "kept": seen.kept,
                    "seconds": round(seconds, 1),
                }
            )
    return rows


async def _one(promise: Promise, stage: Stage) -> Measured:
    try:
        return await promise.measure(stage)
    except Exception as error:
        return Measured(f"the measurement itself failed: {type(error).__name__}: {error}", False)


def _line(*cells: str) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, (*COLUMNS, 0), strict=True)).rstrip()


if __name__ == "__main__":
    sys.exit(main())
