"""A driver program run with tracing set up, and the spans that it and its hosts have written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def traced(
    folder: Path, hook: str, module: str, *arguments: str, seconds: float = 110
) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[str]]:
    """The spans of a driver module and of its hosts, set up by a function of ``tracing_hook``."""
    file = folder / "spans.jsonl"
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    named = f"tests.cluster.tracing_hook:{hook}"
    environment |= {"SYMFONIC_RAY_TRACING": named, "SPANS": str(file), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    spans = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return spans, ended
