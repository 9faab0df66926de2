"""How far a bulk job is: the words, the bar of a terminal, the lines of everything else."""

from __future__ import annotations

import asyncio
import io

import pytest

from symfonic_ray.cli.map_progress import MapProgress, MapStand


@pytest.mark.parametrize(
    ("stand", "seconds", "words"),
    [
        (
            MapStand(done=1234, failed=3, in_flight=64, fresh=1234, total=20_000),
            2.0,
            "1,234 of 20,000 done, 3 failed, 617/s, 30 s left, 64 in flight",
        ),
        (
            MapStand(done=10, failed=0, in_flight=1, fresh=0, total=20),
            1.0,
            "10 of 20 done, 0 failed, 0/s, 1 in flight",
        ),
        (MapStand(done=5, failed=0, in_flight=1, fresh=5, total=None), 0.0, "5 done, 0 failed, 0/s, 1 in flight"),
        (
            MapStand(done=100, failed=0, in_flight=1, fresh=50, total=100_000),
            50.0,
            "100 of 100,000 done, 0 failed, 1/s, 28 h left, 1 in flight",
        ),
    ],
    ids=["under way", "resumed, nothing yet", "a file of unknown length", "days"],
)
def test_progress_tells_done_failed_rate_time_left_and_in_flight(stand: MapStand, seconds: float, words: str) -> None:
    assert stand.words(seconds) == words


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


async def test_on_a_terminal_progress_is_a_bar_that_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("symfonic_ray.cli.map_progress.BAR_SECONDS", 0.01)
    stands = [MapStand(done=done, failed=1, in_flight=4, fresh=done, total=200) for done in range(10, 200, 10)]
    with MapProgress(lambda: stands.pop(0) if len(stands) > 1 else stands[0], no_color=True):
        await asyncio.sleep(0.2)
    drawn = terminal.getvalue()
    for words in ("10 of 200 done, 1 failed", "20 of 200 done, 1 failed", "4 in flight", "━"):
        assert words in drawn


async def test_without_a_terminal_progress_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("symfonic_ray.cli.map_progress.LINE_SECONDS", 0.03)
    stand = MapStand(done=10, failed=1, in_flight=4, fresh=10, total=200)
    with MapProgress(lambda: stand, no_color=False):
        await asyncio.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("10 of 200 done, 1 failed, ") for line in lines)
