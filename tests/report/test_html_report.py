"""The HTML report: failures first, everything escaped, small, and whole in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from symfonic_ray.journal import HandOffRow, RunRow
from symfonic_ray.report.html_report import html_report
from symfonic_ray.report.run_figures import failure_groups, lanes, slowest_path, tokens, waited_seconds
from symfonic_ray.report.run_tree import nested, tree_lines

CHROMIUM = shutil.which("chromium")
CANARY = "<script>document.title='canary'</script><img src=x onerror=alert(1)>\"'>"

ROW = HandOffRow(
    name="reader",
    task="",
    depth=1,
    outcome="delivered",
    reason="",
    message="yes",
    run_id="",
    root_run_id="root",
    parent_run_id="root",
    scope_key="acme",
    generation=1,
    fresh=False,
    queue_position=None,
    started_seconds=0.0,
    seconds=1.0,
    usage="",
)
RUN = RunRow(
    run_id="3f2a",
    command="run",
    fleet="readers",
    scope="acme",
    question="What is new?",
    started_at=0.0,
    seconds=9.0,
    outcome="delivered",
    message="",
    hand_offs=500,
    failed=23,
    left_out=0,
    pid=1,
    pid_started="",
)


def tree_of_500() -> list[HandOffRow]:
    """20 coordinators with 24 readers each; a reader in 21 failed."""
    rows = []
    for top in range(20):
        begin = top * 0.2
        rows.append(replace(ROW, name=f"coordinator-{top % 4}", run_id=f"c{top}", started_seconds=begin, seconds=4.0))
        for leaf in range(24):
            failed = (top * 24 + leaf) % 21 == 0
            rows.append(
                replace(
                    ROW,
                    name=f"reader-of-the-{'very-' * (leaf % 3)}long-archive",
                    depth=2,
                    run_id=f"r{top}-{leaf}",
                    parent_run_id=f"c{top}",
                    outcome="child_failed" if failed else "delivered",
                    reason=("timeout" if leaf % 2 else "child_error") if failed else "",
                    message="OSError: [Errno 5] no answer from /srv/archive/2026/notes.txt" if failed else "x" * 1000,
                    started_seconds=begin + 0.1 * leaf,
                    seconds=0.3 + 0.05 * (leaf % 7),
                    usage='{"total_tokens": 11, "input_tokens": 9}',
                )
            )
    return rows


def test_failures_come_before_the_tree() -> None:
    page = html_report(RUN, tree_of_500())
    assert page.index("What failed and why") < page.index("OSError") < page.index("Who handed work to whom")


def test_a_tree_of_500_stays_small() -> None:
    assert len(html_report(RUN, tree_of_500()).encode()) < 2_000_000


def test_nothing_that_was_written_by_others_becomes_markup() -> None:
    bad = replace(ROW, name=CANARY, task=CANARY, outcome="child_failed", reason=CANARY, message=CANARY)
    page = html_report(replace(RUN, fleet=CANARY, scope=CANARY, question=CANARY, message=CANARY), [bad])
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page


def test_the_page_names_nothing_outside_itself() -> None:
    assert not re.findall(r"https?://|url\(|@import|<script", html_report(RUN, tree_of_500()))


def test_a_run_without_hand_offs_has_a_page() -> None:
    assert "No hand-off is recorded." in html_report(replace(RUN, seconds=None, outcome="lost", hand_offs=0), [])


def test_failures_are_grouped_by_cause_the_most_frequent_first() -> None:
    failed = replace(ROW, outcome="child_failed", reason="timeout")
    groups = failure_groups([replace(failed, reason="child_error"), failed, failed, ROW], shown_of_each=5)
    assert [(group.cause, group.count, len(group.rows)) for group in groups] == [
        ("child_failed (timeout)", 2, 1),
        ("child_failed (child_error)", 1, 1),
    ]


def test_waiting_is_the_time_that_any_hand_off_below_was_out() -> None:
    parent = replace(ROW, run_id="p", seconds=10.0)
    below = [replace(ROW, parent_run_id="p", started_seconds=at, seconds=3.0) for at in (1.0, 2.0, 9.0)]
    (top,) = nested([parent, *below])
    assert waited_seconds(top) == pytest.approx(5.0)  # 1 to 5, and 9 to 10


def test_the_slowest_path_goes_down_to_a_leaf() -> None:
    rows = [
        replace(ROW, name="a", run_id="a", seconds=5.0),
        replace(ROW, name="b", run_id="b", seconds=4.0),
        replace(ROW, name="c", parent_run_id="a", seconds=2.0),
        replace(ROW, name="d", parent_run_id="a", seconds=3.0),
    ]
    assert [row.name for row in slowest_path(nested(rows))] == ["a", "d"]


def test_a_hand_off_is_told_from_its_siblings_by_what_it_was_asked_about() -> None:
    row = replace(ROW, task='{"file": "hours.txt", "question": "when"}')
    assert "reader (hours.txt)  delivered" in "\n".join(tree_lines("t", nested([row])))
    assert "reader (hours.txt)" in html_report(RUN, [row])


def test_runs_that_claim_each_other_as_parents_are_still_drawn_once() -> None:
    rows = [
        replace(ROW, name="a", run_id="a", parent_run_id="b"),
        replace(ROW, name="b", run_id="b", parent_run_id="a"),
    ]
    assert sorted(line.split()[0] for line in list(tree_lines("t", nested(rows)))[1:]) == ["a", "b"]


def test_a_total_of_tokens_is_not_added_to_its_parts() -> None:
    assert tokens(['{"total_tokens": 11, "input_tokens": 9}', '{"input_tokens": 2, "output_tokens": 3}', ""]) == 16


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("width", [1280, 500], ids=["desk", "phone"])
def test_the_page_opens_in_a_browser_without_errors_or_sideways_scrolling(tmp_path: Path, width: int) -> None:
    page = tmp_path / "run.html"
    probe = "<script>document.body.dataset.over=document.documentElement.scrollWidth-innerWidth</script></body>"
    text = html_report(RUN, tree_of_500()).replace(
        "default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'"
    )
    page.write_text(text.replace("</body>", probe))
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},844", "--enable-logging=stderr"),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    over = re.search(r'data-over="(-?\d+)"', done.stdout)
    assert over is not None
    assert int(over[1]) <= 0


def test_the_timeline_has_a_lane_for_each_host() -> None:
    rows = [
        ROW,
        replace(ROW, name="critic"),
        replace(ROW, generation=7),
        *(replace(ROW, name=f"c{number}", generation=9) for number in range(5)),
        replace(ROW, name="local", generation=0),
    ]
    assert [(name, len(bars)) for name, bars in lanes(rows)] == [
        ("c0, c1, c2, ..., host 9", 5),
        ("critic, reader, host 1", 2),
        ("reader, host 7", 1),
        ("local", 1),
    ]
