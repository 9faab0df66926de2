"""P6, P7, P14 to P19: promises that named tests or programs of their own show; here they are run and counted."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.chaos.stage import Measured, Stage

ROOT = Path(__file__).parents[2]
PROGRAM_SECONDS = 400.0


async def _output(*command: str, seconds: float = PROGRAM_SECONDS, **environment: str) -> tuple[int | None, str]:
    """Exit code and output of a program; None when it did not end in time."""
    inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env=inherited | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
        return None, ""
    return process.returncode, output.decode("utf-8", "replace")


def by_tests(*tests: str) -> Callable[[Stage], Coroutine[Any, Any, Measured]]:
    """A promise that these tests hold; in the suite they run anyway, so that the short form only finds them."""

    async def measure(stage: Stage) -> Measured:
        began = time.monotonic()
        collect = () if stage.whole else ("--collect-only",)
        code, output = await _output(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *collect, *tests)
        verb = "passed" if stage.whole else "collected"
        counted = re.search(r"(\d+) passed|(\d+) tests? collected", output)
        count = int(next(group for group in counted.groups() if group)) if counted else 0
        failed = re.search(r"(\d+) failed", output)
        figure = f"{count} tests {verb}{f', {failed[1]} FAILED' if failed else ''} in {time.monotonic() - began:.0f} s"
        return Measured(figure, code == 0 and count > 0)

    return measure


async def simulator(stage: Stage) -> Measured:
    """P19: one seed gives one history, and many seeds are sound."""
    seeds, steps = stage.size(2000, 10), 200
    command = (sys.executable, "-m", "symfonic_ray.testing.simulator", "--seeds", str(seeds), "--steps", str(steps))
    code, output = await _output(*command)
    _, once = await _output(*command[:4], "3", "--steps", "50")
    _, twice = await _output(*command[:4], "3", "--steps", "50")
    told = re.search(r"(\d+) unsound, ([\d.]+) s", output)
    same = once == twice or re.findall(r"[0-9a-f]{16}$", once, re.M) == re.findall(r"[0-9a-f]{16}$", twice, re.M)
    if code is None or told is None:
        return Measured(f"{seeds} seeds did not end within {PROGRAM_SECONDS:.0f} s", False)
    seconds = float(told[2])
    each = f"{seconds / seeds * 1000:.0f} ms a seed"
    figure = f"{seeds} seeds x {steps} steps: {told[1]} unsound, {seconds:.0f} s of a core ({each})"
    quick = seconds <= 60 * seeds / 2000 if stage.whole else True
    return Measured(figure, told[1] == "0" and same and quick)


async def node_loss(stage: Stage) -> Measured:
    """P18: a node is lost; its calls get records, its child answers elsewhere."""
    code, output = await _output(sys.executable, "-m", "tests.chaos.node_loss", seconds=180)
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if code != 0 or not lines:
        return Measured(f"did not come to an end: {output[-300:]!r}", False)
    seen = json.loads(lines[-1])
    again = seen["again"]
    words = "never again" if again is None else f"answers again after {again:.1f} s"
    figure = f"{seen['calls']} records ({', '.join(seen['reasons'])}) after {seen['told']:.2f} s; {words}"
    return Measured(figure, seen["told"] <= 5 and again is not None and again <= 30 and "" not in seen["reasons"])


async def killed_driver(stage: Stage) -> Measured:
    """P6: a driver that is killed and resumed delivers every item once."""
    kills = stage.size(10, 1)
    code, output = await _output(
        sys.executable, "-m", "tests.chaos.killed_map", str(stage.folder), str(kills), str(stage.seed)
    )
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if code != 0 or not lines:
        return Measured(f"did not come to an end: {output[-300:]!r}", False)
    seen = json.loads(lines[-1])
    figure = (
        f"{seen['kills']} kills: {seen['results']} of {seen['tasks']} results, {seen['lost']} acknowledged ones lost, "
        f"{seen['delivered_twice']} delivered items run again, {seen['unknown']} reported as unknown"
    )
    return Measured(figure, seen["results"] == seen["tasks"] and not seen["lost"] and not seen["delivered_twice"])
