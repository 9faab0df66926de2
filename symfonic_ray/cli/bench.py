"""``symfonic-ray bench``: our hand-offs beside hand-written Ray, on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import Address
from symfonic_ray.cli.streams import Results, results, say

LEAST_ROUNDS = 5  # fewer tell nothing about spread; as in symfonic_ray.bench, which imports Ray


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAMES]...", help="Keys or groups to measure; all without any.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write what was measured as one JSON object.")
    ] = None,
    chart_file: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE", help="Draw it as an SVG picture.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=LEAST_ROUNDS, help="Measured rounds of each.")] = LEAST_ROUNDS,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes, one round: shows that it works and says nothing of speed.")
    ] = False,
    address: Address = None,
) -> None:
    """Measure hand-offs beside hand-written Ray.

    Both in turns in one run; ratios are ours divided by Ray's. Takes some minutes; --json FILE is written after
    every item.

    \b
    Examples:
      symfonic-ray bench
      symfonic-ray bench throughput cold_start --rounds 9 --json bench.json --chart bench.svg
    """
    if not Path("/proc/self/smaps_rollup").exists():
        say("bench reads CPU time and memory from /proc, which this system does not have; run it on Linux")
        raise typer.Exit(ExitCode.USAGE)
    for file in (json_file, chart_file):
        if file is not None and not file.absolute().parent.is_dir():
            say(f"the folder of {file} does not exist; make it first")
            raise typer.Exit(ExitCode.USAGE)
    say("loading Ray ...")
    with results() as out:
        code = _measure(out, names or [], json_file, chart_file, rounds=rounds, quick=quick, address=address)
    raise typer.Exit(code)


def _measure(
    out: Results,
    names: list[str],
    json_file: Path | None,
    chart_file: Path | None,
    *,
    rounds: int,
    quick: bool,
    address: str | None,
) -> ExitCode:
    from symfonic_ray.bench.bench import run_bench
    from symfonic_ray.bench.catalogue import WorkItem, catalogue, chosen
    from symfonic_ray.bench.chart import chart
    from symfonic_ray.bench.table import table
    from symfonic_ray.cluster import ClusterUnreachableError

    try:
        items = chosen(names, catalogue())
    except ValueError as error:
        say(str(error))
        return ExitCode.USAGE
    so_far: dict[str, Any] = {}

    def on_item(item: WorkItem, gave: Mapping[str, Any] | None) -> None:
        if gave is None:
            say(f"measuring {', '.join(item.keys)} ...")
            return
        so_far.update(gave)
        if json_file is not None:  # what was measured is kept, whatever comes next
            json_file.write_text(json.dumps(so_far, indent=1) + "\n")

    say(f"connecting to the Ray at {address} ..." if address else "starting a local Ray (4 to 30 seconds) ...")
    try:
        found = asyncio.run(
            run_bench(items, rounds=1 if quick else rounds, quick=quick, address=address, on_item=on_item)
        )
    except ClusterUnreachableError as error:
        say(str(error))
        return ExitCode.UNREACHABLE
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1) + "\n")
    if chart_file is not None:
        chart_file.write_text(chart(found), encoding="utf-8")
    out.text(table(found))
    failed = [key for key, value in found.items() if isinstance(value, dict) and "error" in value]
    if failed:
        say(f"could not be measured: {', '.join(failed)}")
    return ExitCode.FAILED if failed else ExitCode.DELIVERED
