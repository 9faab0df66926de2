"""How a foreign agent is called: which keywords its ``run`` names, and on which thread it runs.

Knows no depth policy, no roster and no lockdown; what the agent raises leaves untouched.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

RUN_KEYWORDS = ("scope", "run_id", "agent_depth", "root_run_id", "parent_run_id")
UNSAFE_CATCH_ALL = "state_overrides"  # such a run takes every keyword for the state of the agent's own graph


class AgentCall:
    """How to call one agent. Made once per agent: the signature is read here and never again."""

    __slots__ = ("_agent", "_first", "_places", "_threaded", "keywords", "named")

    def __init__(self, agent: Any) -> None:  # Any: an agent is foreign, known by its ``run`` alone
        self._agent = agent
        run = getattr(agent, "run", None)  # an object without one fails when it is called, as any agent does
        self._threaded = not _is_async(run)
        first, self.named, catches_all = _signature(run)
        self._first = first
        self.keywords: tuple[str, ...] = RUN_KEYWORDS if catches_all else self.named
        """The run keywords that are sent, in a fixed order."""
        self._places = tuple((name, RUN_KEYWORDS.index(name)) for name in self.keywords)

    @property
    def blocking(self) -> bool:
        """Whether the agent runs in a thread, which no cancellation can end."""
        return self._threaded

    @property
    def speaks_prompt(self) -> bool:
        """Whether the agent takes the query and nothing else of ours."""
        return not self.keywords

    @property
    def names_depth(self) -> bool:
        """Whether ``run`` names ``agent_depth`` itself; a catch-all may drop it unread."""
        return "agent_depth" in self.named

    @property
    def takes_lineage(self) -> bool:
        """Whether ``run`` takes both ``root_run_id`` and ``parent_run_id``."""
        return "root_run_id" in self.keywords and "parent_run_id" in self.keywords

    async def __call__(
        self,
        query: str,
        *,
        scope: Any = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> Any:
        """Run the agent and return its response as it is; see ``call_agent``."""
        response = self.start(query, scope, run_id, agent_depth, root_run_id, parent_run_id)
        return await response if inspect.isawaitable(response) else response

    def start(
        self,
        query: str,
        scope: Any,
        run_id: str | None,
        agent_depth: int,
        root_run_id: str | None,
        parent_run_id: str | None,
    ) -> Any:
        """Start the agent; what comes back is its response, or something to await for it.

        The host's own way in: it awaits the agent's coroutine itself, without one of ours around it.
        """
        offered = (scope, run_id, agent_depth, root_run_id, parent_run_id)
        sent: dict[str, Any] = {name: offered[place] for name, place in self._places}
        if self._first is not None:
            sent[self._first] = query
            return self._threaded_run((), sent) if self._threaded else self._agent.run(**sent)
        return self._threaded_run((query,), sent) if self._threaded else self._agent.run(query, **sent)

    async def _threaded_run(self, arguments: tuple[str, ...], sent: dict[str, Any]) -> Any:
        response = await asyncio.to_thread(_without_stop_iteration, self._agent.run, arguments, sent)
        return await response if inspect.isawaitable(response) else response


async def call_agent(
    agent: Any,
    query: str,
    *,
    scope: Any,
    run_id: str | None,
    agent_depth: int,
    root_run_id: str | None,
    parent_run_id: str | None,
) -> Any:
    """Run ``agent`` with the keywords that its signature names.

    All of them if it has a catch-all that is not called ``state_overrides``, or if its signature cannot be read.
    The query goes first, whatever that parameter is called. A plain function runs in a thread, with the context
    copied. For many calls of one agent make an ``AgentCall`` once.
    """
    return await AgentCall(agent)(
        query,
        scope=scope,
        run_id=run_id,
        agent_depth=agent_depth,
        root_run_id=root_run_id,
        parent_run_id=parent_run_id,
    )


def accepted_keywords(agent: Any) -> tuple[str, ...]:
    """The run keywords that ``agent.run`` would be sent."""
    return AgentCall(agent).keywords


def speaks_prompt(agent: Any) -> bool:
    """Whether ``agent`` speaks ``run(prompt)``: the query and nothing else of ours."""
    return AgentCall(agent).speaks_prompt


def accepts_run_lineage(runner: Any) -> bool:
    """Whether ``runner.run`` takes both lineage keywords, asked of its signature and never found out by trying."""
    return AgentCall(runner).takes_lineage


def _signature(run: Any) -> tuple[str | None, tuple[str, ...], bool]:
    """The keyword that the query needs (None: positional), the run keywords named, whether all may be sent."""
    try:
        parameters = list(inspect.signature(run).parameters.values())
    except (TypeError, ValueError):
        return None, (), True
    if not parameters:
        return None, (), False
    first, *rest = parameters
    query_keyword = None
    if first.kind is inspect.Parameter.KEYWORD_ONLY:
        query_keyword = first.name
    elif first.kind is inspect.Parameter.VAR_KEYWORD:
        query_keyword, rest = "query", parameters
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {parameter.name for parameter in rest if parameter.kind in by_keyword}
    catches_all = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD and parameter.name != UNSAFE_CATCH_ALL for parameter in rest
    )
    return query_keyword, tuple(name for name in RUN_KEYWORDS if name in names), catches_all


def _is_async(run: Any) -> bool:
    inner = inspect.unwrap(run)
    return inspect.iscoroutinefunction(inner) or (callable(inner) and inspect.iscoroutinefunction(inner.__call__))


def _without_stop_iteration(run: Callable[..., Any], arguments: tuple[str, ...], sent: dict[str, Any]) -> Any:
    try:
        return run(*arguments, **sent)
    except StopIteration as error:  # a future cannot carry one: the caller would wait for ever
        raise RuntimeError("the agent's run raised StopIteration") from error
