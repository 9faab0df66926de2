"""The tree of hand-offs as a person sees it."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from symfonic_ray.delegation import DelegationOutcome, DelegationRecord, HandOffEnded, HandOffStarted
from symfonic_ray.report import HandOffTree, LiveTree, PlainTree, harmless

HOSTILE = "[bold]x[/bold]\x1b[31m\u202eevil\n\x07"


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def record(
    name: object = "reader",
    *,
    depth: int = 1,
    delivered: bool = True,
    message: str = "text",
    run_id: str = "",
    parent_run_id: str | None = None,
) -> DelegationRecord:
    return DelegationRecord(
        name=name,
        outcome=DelegationOutcome.DELIVERED if delivered else DelegationOutcome.CHILD_FAILED,
        depth=depth,
        message=message,
        run_id=run_id,
        parent_run_id=parent_run_id,
        reason="" if delivered else "timeout",
        seconds=1.5,
    )


def plain() -> tuple[PlainTree, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return PlainTree(stream, scope="acme", clock=clock), stream, clock


def live() -> tuple[LiveTree, Console, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, width=110, force_terminal=True, color_system=None, legacy_windows=False)
    return LiveTree(console, title="readers", scope="acme", clock=Clock()), console, stream


def picture(tree: LiveTree, console: Console) -> list[str]:
    with console.capture() as captured:
        console.print(tree.picture())
    return [line.rstrip() for line in captured.get().splitlines()]


def test_plain_lines_follow_the_events_with_the_seconds_since_the_start() -> None:
    tree, stream, clock = plain()
    tree.on_event(HandOffStarted(1, "reader", 1))
    clock.now += 2.25
    tree.on_event(HandOffEnded(1, record(delivered=False, message="no answer")))
    tree.on_event(HandOffEnded(None, record("helper", depth=2)))
    assert stream.getvalue().splitlines() == [
        "[   0.0 s]   reader  depth 1  scope acme  running",
        "[   2.2 s]   reader  depth 1  scope acme  child_failed (timeout)  1.50 s  no answer",
        "[   2.2 s]     helper  depth 2  scope acme  delivered  1.50 s",
    ]


TASKS = [
    ("read it", "reader (read it)"),
    ('{"file": "notes/a.md", "question": "when"}', "reader (notes/a.md)"),
    ('{"question": "when"', 'reader ({"question": "when")'),
    ("", "reader"),
    ("\x1b[31m" + "x" * 100, None),
]


@pytest.mark.parametrize(("task", "title"), TASKS, ids=["words", "a file", "other data", "none", "hostile and long"])
def test_a_line_says_what_the_child_was_asked_about(task: str, title: str | None) -> None:
    tree, stream, _ = plain()
    tree.on_event(HandOffStarted(1, "reader", 1, task))
    line = stream.getvalue()
    assert "\x1b" not in line
    assert len(line) < 140
    if title is not None:
        assert f"  {title}  depth 1" in line


def test_plain_lines_end_with_the_counts() -> None:
    tree, stream, _ = plain()
    with tree:
        tree.on_event(HandOffStarted(1, "reader", 1))
        tree.on_event(HandOffStarted(2, "reader", 1))
        tree.on_event(HandOffEnded(2, record(delivered=False)))
    assert stream.getvalue().splitlines()[-1].endswith("1 running, 0 delivered, 1 failed")


def test_hostile_text_stays_text_on_a_plain_line() -> None:
    tree, stream, _ = plain()
    tree.on_event(HandOffStarted(1, HOSTILE, 1))
    tree.on_event(HandOffEnded(1, record(HOSTILE, delivered=False, message=HOSTILE)))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert not any(character in stream.getvalue() for character in "\x1b\x07\u202e")
    assert lines[1].count("[bold]x[/bold]") == 2


def test_hostile_text_stays_text_in_the_picture() -> None:
    tree, console, _ = live()
    tree.on_event(HandOffEnded(None, record(HOSTILE, delivered=False, message=HOSTILE)))
    rows = picture(tree, console)
    assert len(rows) == 2
    assert rows[1].count("[bold]x[/bold]") == 2
    assert not any(character in "".join(rows) for character in "\x1b\x07\u202e")


def test_a_name_that_is_no_text_and_a_long_one_are_bounded() -> None:
    tree = HandOffTree()
    assert tree.note(HandOffEnded(None, record({"a": 1})), now=0.0).name == "{'a': 1}"
    assert len(tree.note(HandOffEnded(None, record("x" * 5000)), now=0.0).name) <= 64


def test_the_picture_nests_what_a_run_handed_on_under_that_run() -> None:
    tree, console, _ = live()
    tree.on_event(HandOffStarted(1, "boss", 1))
    tree.on_event(HandOffEnded(None, record("helper", depth=2, run_id="h", parent_run_id="b")))
    tree.on_event(HandOffEnded(None, record("helper2", depth=3, parent_run_id="h")))
    assert picture(tree, console)[1:] == [
        "├── boss  depth 1  scope acme  running  0.00 s",
        "└── helper  depth 2  scope acme  delivered  1.50 s",
        "    └── helper2  depth 3  scope acme  delivered  1.50 s",
    ]
    tree.on_event(HandOffEnded(1, record("boss", run_id="b")))
    assert picture(tree, console)[1:] == [
        "└── boss  depth 1  scope acme  delivered  1.50 s",
        "    └── helper  depth 2  scope acme  delivered  1.50 s",
        "        └── helper2  depth 3  scope acme  delivered  1.50 s",
    ]


def test_records_that_name_each_other_as_parents_are_still_drawn() -> None:
    tree, console, _ = live()
    tree.on_event(HandOffEnded(None, record("a", run_id="1", parent_run_id="2")))
    tree.on_event(HandOffEnded(None, record("b", run_id="2", parent_run_id="1")))
    assert len(picture(tree, console)) == 3


def test_two_hundred_hand_offs_do_not_flood_the_terminal() -> None:
    tree, console, _ = live()
    for key in range(200):
        tree.on_event(HandOffStarted(key, f"reader{key}", 1))
    for key in range(150):
        tree.on_event(HandOffEnded(key, record(f"reader{key}", delivered=key != 3)))
    rows = picture(tree, console)
    assert len(rows) <= 25
    assert "50 running, 149 delivered, 1 failed" in rows[0]
    assert "reader3  depth 1" in rows[1]  # the failure stays in sight
    assert any("reader149" in row for row in rows)
    assert rows[-1].endswith("and 187 more")


def test_a_row_never_takes_two_lines() -> None:
    tree, console, _ = live()
    tree.on_event(HandOffEnded(None, record(delivered=False, message="words " * 100)))
    assert len(picture(tree, console)) == 2


def test_the_counts_keep_up_with_the_events() -> None:
    tree = HandOffTree()
    tree.note(HandOffStarted(1, "reader", 1), now=0.0)
    assert tree.counts() == "1 running, 0 delivered, 0 failed"
    tree.note(HandOffEnded(1, record()), now=1.0)
    tree.note(HandOffEnded(1, record(delivered=False)), now=1.0)  # a second end of one key is its own row
    assert tree.counts() == "0 running, 1 delivered, 1 failed"
    assert [one.outcome.delivered for one in tree.records] == [True, False]


async def test_the_live_tree_redraws_by_itself_and_ends_with_the_last_state() -> None:
    tree, _, stream = live()
    with tree:
        tree.on_event(HandOffStarted(1, "reader", 1))
        for _ in range(500):
            if "running" in stream.getvalue():
                break
            await asyncio.sleep(0.01)
        assert "1 running" in stream.getvalue()
        tree.on_event(HandOffEnded(1, record()))
    assert "0 running, 1 delivered, 0 failed" in stream.getvalue()
    assert [one.name for one in tree.records] == ["reader"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b", "\\x9b"),
        ("\r", "\\x0d"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("[red]", "[red]"),
    ],
)
def test_only_characters_that_command_a_terminal_become_escapes(text: str, shown: str) -> None:
    assert harmless(text) == shown
