"""Whether a guard answers a call in the tool's place. Admits whatever the guard does not clearly answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from symfonic_ray.execution.result_text import result_text
from symfonic_ray.execution.settling import is_containable, settled
from symfonic_ray.execution.values import SteeringResult, ToolCall
from symfonic_ray.kernel.text import failure_line

Consultant: TypeAlias = Callable[[ToolCall], Any | Awaitable[Any]]
"""A guard: only a mapping with ``action == "skip"`` answers. Any: it may say what it likes, and that admits."""


@dataclass(frozen=True, slots=True)
class Steering:
    """What the gate decided of one call."""

    answer: SteeringResult | None = None
    """The answer in the tool's place; None where the call is admitted."""
    fault: str = ""
    """How the guard broke, on one line; empty where it did not."""


class SteeringGate:
    """Asks one guard about each call."""

    def __init__(self, consult: Consultant | None = None, *, on_error: Literal["admit", "refuse"] = "admit") -> None:
        """Hold the guard.

        Args:
            consult: sync or async; None admits every call.
            on_error: what becomes of a call whose guard raises; ``refuse`` is the fail-closed choice.
        Raises:
            ValueError: for any other ``on_error``.
        """
        if on_error not in ("admit", "refuse"):
            raise ValueError(f"on_error is {on_error!r}; say 'admit' or 'refuse'")
        self._consult = consult
        self._refuses = on_error == "refuse"

    async def steer(self, call: ToolCall) -> Steering:
        """The guard's decision about ``call``.

        Raises:
            asyncio.CancelledError: when the run is cancelled meanwhile.
        """
        if self._consult is None:
            return Steering()
        try:
            return Steering(_answer(call, await settled(self._consult(call))))
        except BaseException as error:
            if not is_containable(error):
                raise
            fault = failure_line(error)
        if not self._refuses:
            return Steering(fault=fault)
        words = f"{call.name} was not run: its guard failed, and a call that cannot be judged is refused"
        return Steering(SteeringResult(call.id, call.name, words), fault)


def _answer(call: ToolCall, said: Any) -> SteeringResult | None:
    if not isinstance(said, Mapping) or said.get("action") != "skip":
        return None
    content = said.get("content")
    words = f"{call.name} was not run: the guard said skip" if content is None else result_text(content)
    return SteeringResult(call.id, call.name, words, is_error=said.get("is_error") is not False)
