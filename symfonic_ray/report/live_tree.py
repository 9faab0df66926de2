"""The tree as a picture that a terminal keeps up to date, bounded in height. Decides only how a node looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from symfonic_ray.delegation import DelegationRecord, HandOffEvent
from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.tree import HandOffTree, TreeNode

REDRAW_SECONDS = 0.1


class LiveTree:
    """Redraws the tree from the event loop's own thread: the tree is never read while it changes."""

    def __init__(
        self, console: Console, *, title: str, scope: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        Args:
            console: writes to the terminal.
            title: of the fleet.
            scope: the tenant, as the user named it.
            clock: monotonic seconds.
        """
        self._console, self._clock = console, clock
        self._title, self._scope = harmless(title), harmless(scope)
        self._began_at = clock()
        self._tree = HandOffTree()
        self._live = Live(console=console, auto_refresh=False, get_renderable=self.picture)
        self._redrawing: asyncio.Task[None] | None = None

    def __enter__(self) -> LiveTree:
        self._live.start()
        self._redrawing = asyncio.get_running_loop().create_task(self._redraw())
        return self

    def __exit__(self, *_: object) -> None:
        if self._redrawing is not None:
            self._redrawing.cancel()
        self._live.refresh()
        self._live.stop()

    @property
    def records(self) -> tuple[DelegationRecord, ...]:
        """Of every hand-off that has ended."""
        return self._tree.records

    def on_event(self, event: HandOffEvent) -> None:
        """Take in one event; it is drawn with the next picture."""
        self._tree.note(event, now=self._clock())

    def say(self, words: str) -> None:
        """Print ``words`` above the tree."""
        self._console.print(Text(harmless(words)))

    def picture(self) -> Tree:
        """The tree as it is now: at most 25 rows, whatever the number of hand-offs."""
        now = self._clock()
        head = f"{self._title}  scope {self._scope}  {self._tree.counts()}  {now - self._began_at:.1f} s"
        root = Tree(Text(head, style="bold", overflow="ellipsis", no_wrap=True))
        shown, left_out = self._tree.shown()
        branches: dict[int, Tree] = {}
        for node in sorted(shown, key=lambda node: node.depth):  # a parent before what it handed on
            parent = self._tree.parent_of(node, shown)
            branch = root if parent is None else branches.get(id(parent), root)
            branches[id(node)] = branch.add(self._row(node, now))
        if left_out:
            root.add(Text(f"and {left_out} more", style="dim"))
        return root

    def _row(self, node: TreeNode, now: float) -> Text:
        style = "yellow" if node.record is None else "red" if node.failed else "green"
        row = Text(overflow="ellipsis", no_wrap=True)
        row.append(node.title)
        row.append(f"  depth {node.depth}  scope {self._scope}  ", style="dim")
        row.append(node.outcome(), style=style)
        row.append(f"  {node.seconds(now):.2f} s", style="dim")
        if why := node.why():
            row.append(f"  {why}", style="red")
        return row

    async def _redraw(self) -> None:
        while True:
            await asyncio.sleep(REDRAW_SECONDS)
            self._live.refresh()
