"""A plain function as a child. Decides only that data is an answer; the function's signature says what it is sent."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from symfonic_ray.adapters.foreign_child import ForeignAnswer
from symfonic_ray.adapters.foreign_error import ForeignAgentError, kind_of


class FunctionChild:
    """A function that takes the task first, and by keyword what it names of ``scope``, ``run_id``, ``agent_depth``,
    ``root_run_id`` and ``parent_run_id``. A plain one runs in a thread, which no cancellation can end.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take a sync or async function, or an object that is called like one.

        Raises:
            ForeignAgentError: for a function that takes no task.
        """
        if not _takes_a_task(function):
            raise ForeignAgentError(_named(function), "takes no argument", "give it one for the task: def f(task): ...")
        self.agent = function
        self.run = _answering(function)

    def palette(self) -> tuple[str, ...]:
        """None: a function offers no tools to a model."""
        return ()


def _answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with data made an answer; the same signature, and async where it is."""
    if _is_async(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            return _answer(await function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            said = function(*args, **kwargs)
            return _awaited(said) if inspect.isawaitable(said) else _answer(said)

    return run


async def _awaited(said: Awaitable[Any]) -> Any:
    return _answer(await said)


def _answer(said: Any) -> Any:
    """An answer as it is, where it is one already; else data as the text of its JSON."""
    if said is None or isinstance(said, str):
        return said
    has_answer = "final_response" in said if isinstance(said, Mapping) else hasattr(said, "final_response")
    return said if has_answer else ForeignAnswer(final_response=said)


def _takes_a_task(function: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True  # a built-in that does not say; it is found out when it is called


def _is_async(function: Callable[..., Any]) -> bool:
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", "") or kind_of(function))
