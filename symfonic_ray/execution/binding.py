"""How tools are bound to a chat model of any make. Calls ``bind_tools`` on whatever it is handed; imports no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symfonic_ray.execution.values import BindingResult
from symfonic_ray.kernel.text import failure_line

_REFUSALS = (TypeError, ValueError, NotImplementedError)


class SchemaBinder:
    """Binds tools, without a forced choice where the model refuses one."""

    def __init__(self, *, annotate_cache: Callable[[Any, Any], Any] | None = None) -> None:
        """Hold the optional hook.

        Args:
            annotate_cache: called with the bound model and the cache's time to live; a model that it returns takes
                the bound one's place. Any: models are foreign.
        """
        self._annotate_cache = annotate_cache

    def bind(
        self, model: Any, tools: Sequence[Any], *, tool_choice: Any = None, cache_ttl: Any = None
    ) -> BindingResult:
        """Bind ``tools`` to ``model``.

        Args:
            model: a chat model by structure. Any: models are foreign.
            tools: shape (tools,), handed on as they are.
            tool_choice: a choice to force, in the model's own form; None for none.
            cache_ttl: handed to ``annotate_cache`` as it is.
        Returns:
            The bound model, or the reason why it is not bound.
        Raises:
            Exception: whatever ``bind_tools`` raises, save ``NotImplementedError`` and a refused choice (``TypeError``,
                ``ValueError``).
        """
        offered = list(tools)
        if not offered:
            return BindingResult(model, False, "no_tools")
        bind_tools = getattr(model, "bind_tools", None)
        if not callable(bind_tools):
            return BindingResult(model, False, "no_bind_tools")
        notes: tuple[str, ...] = ()
        if tool_choice is not None:
            try:
                return self._bound(bind_tools(offered, tool_choice=tool_choice), "bound", cache_ttl, tool_choice, notes)
            except _REFUSALS as error:
                notes = (f"the forced choice {tool_choice!r} was refused: {failure_line(error)}",)
        try:
            bound = bind_tools(offered)
        except NotImplementedError as error:
            return BindingResult(model, False, "not_implemented", notes=(*notes, failure_line(error)))
        return self._bound(bound, "forced_choice_refused" if notes else "bound", cache_ttl, None, notes)

    def _bound(
        self, bound: Any, reason: str, cache_ttl: Any, forced_choice: Any, notes: tuple[str, ...]
    ) -> BindingResult:
        if self._annotate_cache is not None:
            try:
                annotated = self._annotate_cache(bound, cache_ttl)
                bound = bound if annotated is None else annotated
            except Exception as error:  # a cache is a saving, never a condition
                notes = (*notes, f"the cache was not annotated: {failure_line(error)}")
        return BindingResult(bound, True, reason, forced_choice, reason == "forced_choice_refused", notes)
