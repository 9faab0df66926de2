"""The agents that are measured: the same for us and for hand-written Ray. Each answers at once, or after some work."""

from __future__ import annotations

import asyncio
import os
import time

ASK_PID = "pid"
SLEEP_SECONDS = 0.05
CPU_SECONDS = 0.002


class Echo:
    """Answers the task; the task ``pid`` is answered by its process id."""

    async def run(self, query: str) -> str:
        """The answer."""
        return str(os.getpid()) if query == ASK_PID else query


class Sleeper(Echo):
    """Waits 50 ms first, as for a model's answer."""

    async def run(self, query: str) -> str:
        """The answer."""
        if query != ASK_PID:
            await asyncio.sleep(SLEEP_SECONDS)
        return await Echo.run(self, query)


class Spinner(Echo):
    """Uses 2 ms of a core first."""

    async def run(self, query: str) -> str:
        """The answer."""
        ends_at = time.thread_time() + CPU_SECONDS
        while query != ASK_PID and time.thread_time() < ends_at:
            pass
        return await Echo.run(self, query)


def build_echo(scope: object) -> Echo:
    """An echo for any scope."""
    return Echo()


def build_sleeper(scope: object) -> Sleeper:
    """A sleeper for any scope."""
    return Sleeper()


def build_spinner(scope: object) -> Spinner:
    """A spinner for any scope."""
    return Spinner()


BUILDS = {"echo": build_echo, "sleep": build_sleeper, "cpu": build_spinner}
