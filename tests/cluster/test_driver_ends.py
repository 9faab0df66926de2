"""However a driver ends, every run below it ends too: polite ones, blocking ones, and tools. SIGTERM is promise P13."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_the_whole_tree_ends_with_its_driver(tmp_path: Path, number: signal.Signals) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    program = [sys.executable, "-m", "tests.cluster.driver_with_a_tree", str(tmp_path)]
    driver = subprocess.Popen(program, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        assert "up\n" in driver.stdout  # Ray prints there too
        driver.send_signal(number)
        code = driver.wait(30)
        assert code == {signal.SIGINT: 130, signal.SIGKILL: -9}[number]
        deadline = time.monotonic() + 5.0
        while True:
            before = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
            time.sleep(0.5)  # each of them writes ten lines a second
            after = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
            if before == after:
                break
            assert time.monotonic() < deadline, f"still written: {before} {after}"
        assert set(after) == {"sleeper", "Blocking", "tool_writer"}
    finally:
        driver.kill()
        driver.wait()
        if driver.stdout is not None:
            driver.stdout.close()
