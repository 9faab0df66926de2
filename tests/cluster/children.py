"""Children for the tests of the cluster room: each shows one behaviour. Imported by the hosts, so no test code here."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from symfonic_ray.delegation import current_fleet
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.kernel import current_run_identity


class Child:
    """Answers with what ``answer`` makes of the task."""

    def __init__(self, scope: Any, answer: Callable[..., Awaitable[Any]]) -> None:
        self.scope = scope
        self.answer = answer

    async def run(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> Any:
        told = {
            "scope": scope,
            "run_id": run_id,
            "depth": agent_depth,
            "root": root_run_id,
            "parent": parent_run_id,
            "pid": os.getpid(),
        }
        return await self.answer(self, query, told)


def echo(scope: Any) -> Child:
    """Answers the task, behind its scope and process."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        return f"{child.scope}|{told['pid']}|{query}"

    return Child(scope, answer)


def teller(scope: Any) -> Child:
    """Answers with what it was told and what it finds in its context."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        seconds = float(query or 0)
        first = _context()
        await asyncio.sleep(seconds)
        return json.dumps(told | {"context": first, "later": _context()})

    return Child(scope, answer)


def _context() -> dict[str, Any]:
    identity = current_run_identity()
    context = current_fleet().delegation.context
    run = context.current_run()
    return {
        "depth": context.current_depth(),
        "scope": context.current_scope(),
        "identity": None if identity is None else [identity.run_id, identity.root_run_id, identity.parent_run_id],
        "run": None if run is None else [run.run_id, run.root_run_id, run.parent_run_id],
    }


def sleeper(scope: Any) -> Child:
    """Sleeps as many seconds as its task says, politely; ``write PATH SECONDS`` appends a line each 0.1 s meanwhile."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        if query.startswith("write "):
            _, path, seconds = query.split()
            for _ in range(int(float(seconds) * 10)):
                await asyncio.sleep(0.1)
                with Path(path).open("a") as file:  # noqa: ASYNC230  # a line to a local file
                    file.write("line\n")
            return "written"
        await asyncio.sleep(float(query))
        return f"slept {query}"

    return Child(scope, answer)


class Blocking:
    """A plain function: it runs in a thread and cannot be cancelled."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope

    def run(self, query: str, *, scope: Any = None) -> str:
        path, seconds = query.split()
        for _ in range(int(float(seconds) * 10)):
            time.sleep(0.1)
            with Path(path).open("a") as file:
                file.write("line\n")
        return "done"


def wedged(scope: Any) -> Child:
    """Blocks its host's event loop for as many seconds as its task says."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        time.sleep(float(query))  # noqa: ASYNC251  # that is the fault it shows
        return f"blocked for {query}"

    return Child(scope, answer)


class KeywordError(Exception):
    """Cannot be rebuilt from its arguments by a pickle."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


class OwnBase(BaseException):
    """Not an ``Exception``."""


class Unprintable(Exception):
    """Raises when printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Evil(Exception):
    """Would run code in whoever unpickled it."""

    def __reduce__(self) -> Any:
        return os.kill, (os.getpid(), signal.SIGKILL)


FAULTS: dict[str, Callable[[], BaseException]] = {
    "value": lambda: ValueError("no luck"),
    "keyword-only": lambda: KeywordError(code=7),
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "own base": lambda: OwnBase("mine"),
    "unprintable": Unprintable,
    "evil": Evil,
    "group": lambda: ExceptionGroup("many", [ValueError("one"), TypeError("two")]),
    "five megabytes": lambda: ValueError("x" * 5_000_000),
    "timeout": lambda: TimeoutError("its own"),
    "key": lambda: KeyError("ghost"),
    "cancelled": asyncio.CancelledError,
    "generator exit": GeneratorExit,
    "stop async": StopAsyncIteration,
    "lines": lambda: ValueError("one\ntwo\x1b[31m\u202ethree"),
}


def faulty(scope: Any) -> Child:
    """Raises the fault that its task names; ``task:exit`` raises it in a task of its own."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        if query in FAULTS:
            raise FAULTS[query]()
        if query.startswith("task:"):

            async def inner() -> None:
                raise FAULTS[query[5:]]()

            await asyncio.create_task(inner())
        if query == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"fine {query}"

    return Child(scope, answer)


def memo(scope: Any) -> Child:
    """Remembers ``k=v`` and answers ``k``."""
    memory: dict[str, str] = {}

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        key, sign, value = query.partition("=")
        if sign:
            memory[key] = value
        return f"{child.scope}:{memory.get(key, 'nothing known')}"

    return Child(scope, answer)


class Unsafe:
    """Keeps its task in itself while it works: two runs at once would mix."""

    def __init__(self, scope: Any) -> None:
        self.task = ""
        self.running = 0
        self.peak = 0

    async def run(self, query: str) -> str:
        self.running += 1
        self.peak = max(self.peak, self.running)
        self.task = query
        await asyncio.sleep(0.02)
        self.running -= 1
        return f"{self.task} peak={self.peak}"


def caller(scope: Any) -> Child:
    """Does as its task, a JSON list of [name, task], says, and answers with the records as JSON."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        records = [await current_fleet().delegate(name, task) for name, task in json.loads(query)]
        return json.dumps({"told": told, "records": [record.as_dict() for record in records]})

    return Child(scope, answer)


class Lasting:
    """Flushes and closes into files below the folder that is its scope."""

    def __init__(self, scope: Any, name: str, *, flush: str = "well") -> None:
        self.path = Path(scope["folder"]) / name
        self.flush = flush
        self.lines: list[str] = []

    async def run(self, query: str) -> str:
        return query

    async def flush_background_tasks(self) -> None:
        if self.flush == "raises":
            raise RuntimeError("flush broke")
        if self.flush == "hangs":
            await asyncio.Event().wait()
        await asyncio.sleep(0.3)
        self._write("flushed")

    async def aclose(self) -> None:
        self._write("closed")

    def _write(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(line + "\n")


def lasting_well(scope: Any) -> Lasting:
    return Lasting(scope, "well")


def lasting_raises(scope: Any) -> Lasting:
    return Lasting(scope, "raises", flush="raises")


def lasting_hangs(scope: Any) -> Lasting:
    return Lasting(scope, "hangs", flush="hangs")


class TaskBound:
    """Opens a task group in its build and closes it in ``aclose``: both must be one task."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.group = group
        self.builder = asyncio.current_task()

    async def run(self, query: str) -> str:
        return str(asyncio.current_task() is self.builder)

    async def aclose(self) -> None:
        await self.group.__aexit__(None, None, None)


async def task_bound(scope: Any) -> TaskBound:
    group = asyncio.TaskGroup()
    await group.__aenter__()
    return TaskBound(group)


def build_raises(scope: Any) -> Child:
    raise KeywordError(code=5)


def build_gives_none(scope: Any) -> None:
    return None


def build_exits(scope: Any) -> Child:
    raise SystemExit(1)


def build_hangs(scope: Any) -> Child:
    time.sleep(600)
    return echo(scope)


async def build_hangs_politely(scope: Any) -> Child:
    await asyncio.sleep(600)
    return echo(scope)


class Armed:
    """Holds a tool that no child may hold, from its build on or once it was asked for."""

    def __init__(self, *tools: str) -> None:
        self.tools = list(tools)
        self.runs = 0

    async def run(self, query: str) -> str:
        self.runs += 1
        if query == "arm":
            self.tools.append("Memory_Block_Append")
        return f"runs={self.runs}"


def armed(scope: Any) -> Armed:
    return Armed("memory_block_append")


def arms_later(scope: Any) -> Armed:
    return Armed("search")


def answers(scope: Any) -> Child:
    """Answers with the odd thing that its task names."""
    odd: dict[str, Any] = {
        "empty": {"final_response": ""},
        "blank": {"final_response": " \n"},
        "none": {"final_response": None},
        "no attribute": object(),
        "nothing": None,
        "zero": {"final_response": "0"},
        "number": {"final_response": 7},
        "mapping": {"final_response": {"ключ": [1, None]}},
        "error": {"error": "the model is out"},
        "set": {"final_response": {1, 2}},
        "text": "plain",
        "surrogate": {"final_response": "a\ud800b\x00\x1b[0m"},
        "usage": {"final_response": "ok", "usage": {"total_tokens": 12}},
        "forged": {"final_response": "ok", "fresh": True, "scope_key": "other", "generation": 99},
        "long": {"final_response": "é" * 2_000_000},
    }

    async def answer(child: Child, query: str, told: dict[str, Any]) -> Any:
        return odd[query]

    return Child(scope, answer)


def fan(scope: Any) -> Child:
    """Hands on to itself three times, until the ceiling refuses; answers with how many ran, by depth, and refusals."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        records = await asyncio.gather(*(current_fleet().delegate("fan", "go") for _ in range(3)))
        counts = {str(told["depth"]): 1, "refused": 0}
        for record in records:
            if record.outcome.delivered:
                for depth, count in json.loads(record.message).items():
                    counts[depth] = counts.get(depth, 0) + count
            elif record.reason == "depth":
                counts["refused"] += 1
            else:
                counts[record.reason] = counts.get(record.reason, 0) + 1
        return json.dumps(counts)

    return Child(scope, answer)


def left(scope: Any) -> Child:
    """Hands a countdown on to ``right``, which hands it back."""
    return _countdown(scope, "right")


def right(scope: Any) -> Child:
    """Hands a countdown on to ``left``, which hands it back."""
    return _countdown(scope, "left")


def _countdown(scope: Any, other: str) -> Child:
    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        number = int(query)
        await asyncio.sleep(0.01)
        if number == 0:
            return "0"
        record = await current_fleet().delegate(other, str(number - 1))
        return f"{number} {record.message}"

    return Child(scope, answer)


def escapes(scope: Any) -> Child:
    """Keeps its fleet in a task that outlives the run; ``told`` gives what the task came to."""
    said: list[str] = []

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        if query == "told":
            return ";".join(said) or "nothing"
        fleet = current_fleet()

        async def later() -> None:
            await asyncio.sleep(0.2)
            record = await fleet.delegate("echo", "from beyond")
            said.append(f"{record.outcome}:{record.reason}")

        child.kept = asyncio.create_task(later())  # type: ignore[attr-defined]  # so that it is not collected
        return "left a task behind"

    return Child(scope, answer)


def resets(scope: Any) -> Child:
    """Claims to be the root, and then hands on."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        fleet = current_fleet()
        async with fleet.delegation.run_scope(depth=0):
            record = await fleet.delegate("echo", "x")
        return f"{record.outcome}:{record.reason}"

    return Child(scope, answer)


def odd_usage(scope: Any) -> Child:
    """Answers well, with a usage that cannot be packed."""
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"d": deep}

    async def answer(child: Child, query: str, told: dict[str, Any]) -> Any:
        usage: Any = {"deep": deep, "surrogate": {"a": "\ud800"}, "fine": {"total_tokens": 3}}[query]
        return {"final_response": query, "usage": usage, "delegated_to": ["x"]}

    return Child(scope, answer)


def dies_in_build(scope: Any) -> Child:
    """Is built once for each file in its folder, and then no more."""
    marks = Path(scope["folder"])
    if len(list(marks.iterdir())) >= 1:
        raise RuntimeError("once is enough")
    (marks / "built").touch()
    return echo(scope)


def bomb(scope: Any) -> Child:
    """Notes its depth in the file that its task names and hands the task on to itself ten times; counts refusals."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        with Path(query).open("a") as file:  # noqa: ASYNC230  # a line to a local file
            file.write(f"{told['depth']}\n")
        records = await asyncio.gather(*(current_fleet().delegate("bomb", query) for _ in range(10)))
        counts: dict[str, int] = {}
        for record in records:
            below = json.loads(record.message) if record.outcome.delivered else {record.reason: 1}
            for reason, count in below.items():
                counts[reason] = counts.get(reason, 0) + count
        return json.dumps(counts)

    return Child(scope, answer)


def forger(scope: Any) -> Child:
    """Hands on under run ids of its own making, each time another; answers which roots its children saw."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        roster = current_fleet().delegation.roster
        roots, refused = [], []
        for number in range(4):
            forged = {"root_run_id": f"root-{number}", "parent_run_id": f"parent-{number}" if number % 2 else None}
            try:
                reply = await roster.run("teller", "0", depth=told["depth"] + 1, **forged)
                roots.append(json.loads(reply.final_response)["root"])
            except HandOffFault as fault:
                refused.append(fault.reason)
        return json.dumps({"roots": roots, "refused": refused})

    return Child(scope, answer)


def stem(scope: Any) -> Child:
    """Hands on all of its task, a JSON list of [name, task], at once; answers with the reasons of the records."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        records = await asyncio.gather(*(current_fleet().delegate(name, task) for name, task in json.loads(query)))
        return json.dumps([record.reason for record in records])

    return Child(scope, answer)


def stubborn(scope: Any) -> Child:
    """Notes that it runs in the file that its task names; told to stop, it hands on once more and notes what came."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        file = Path(query)
        file.write_text("runs\n")  # noqa: ASYNC240  # a line to a local file
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            record = await current_fleet().delegate("sleeper", f"write {query} 1")
            file.write_text(f"late: {record.reason}\n")  # noqa: ASYNC240
            raise
        return "slept"

    return Child(scope, answer)


def noted(scope: Any) -> Child:
    """Writes one character to the file that its task names, then sleeps as many seconds as it says."""

    async def answer(child: Child, query: str, told: dict[str, Any]) -> str:
        path, seconds = query.split()
        with Path(path).open("a") as file:  # noqa: ASYNC230  # one character to a local file
            file.write(".")
        await asyncio.sleep(float(seconds))
        return "slept"

    return Child(scope, answer)


def spender(scope: Any) -> Child:
    """Hands on one after the other as its task, a JSON list of [name, task], says; answers with the reasons.

    A task that is a number is answered with a usage of so many tokens.
    """

    async def answer(child: Child, query: str, told: dict[str, Any]) -> Any:
        task = json.loads(query)
        if isinstance(task, int):
            return {"final_response": "spent", "usage": {"total_tokens": task}}
        fleet = current_fleet()
        reasons = [(await fleet.delegate(name, json.dumps(inner))).reason for name, inner in task]
        return {"final_response": json.dumps(reasons), "usage": {"total_tokens": 1}}

    return Child(scope, answer)
