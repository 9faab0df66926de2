"""``symfonic-ray validate``: is this fleet file right? Starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from symfonic_ray.cli.exit_codes import ExitCode
from symfonic_ray.cli.options import AsJson, FleetFile
from symfonic_ray.cli.streams import results, say

if TYPE_CHECKING:
    from symfonic_ray.config import FleetConfig


def validate(fleet: FleetFile, as_json: AsJson = False) -> None:
    """Check a fleet file and its import strings.

    Keys, kinds, limits, names, environment references, imports. Starts nothing.

    \b
    Example:
      symfonic-ray validate configs/readers.yaml

    All problems come at once, each as `file:line: key: what is wrong; what to do`; exit code 2.
    """
    from symfonic_ray.cli.result_object import SCHEMA_VERSION, problem_object
    from symfonic_ray.config import ConfigError, load_fleet

    with results() as out:  # a module that an import string names may print
        try:
            config = load_fleet(fleet)
        except ConfigError as error:
            if as_json:
                problems = [problem_object(problem) for problem in error.problems]
                out.object({"schema_version": SCHEMA_VERSION, "outcome": "invalid", "problems": problems})
            else:
                out.text(str(error))
            raise typer.Exit(ExitCode.USAGE) from None
        if as_json:
            out.object(
                {
                    "schema_version": SCHEMA_VERSION,
                    "outcome": "ok",
                    "problems": [],
                    "name": config.name,
                    "children": [child.name for child in config.children],
                    "max_depth": config.max_depth,
                    "project_root": str(config.project_root),
                }
            )
        else:
            out.text(f"ok: {_summary(config)}")
        if holds_no_core(config):
            say(
                "note: no child asks for a CPU, which is right for one machine; an autoscaling cluster only grows "
                "for children that do: give them placement: {num_cpus: 0.1} there"
            )


def _summary(config: FleetConfig) -> str:
    count = len(config.children)
    gets_it = f"parent {config.parent}" if config.parent else f"entry {config.entry}"
    children = f"{count} {'child' if count == 1 else 'children'}"
    return f"{children}, max depth {config.max_depth}, {gets_it}, imports from {config.project_root}"


def holds_no_core(config: FleetConfig) -> bool:
    """Whether an autoscaling cluster would see no reason to grow for this fleet."""
    return all(not placement.num_cpus and not placement.num_gpus for placement in config.placements.values())
