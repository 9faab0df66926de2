"""When the loop stops: no tool asked for, or the same call over and over. Reads messages; runs and answers nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from symfonic_ray.execution.messages import calls_of, is_tool_result, read
from symfonic_ray.execution.values import TerminationVerdict, ToolCall


@dataclass(frozen=True, slots=True)
class LoopTerminationPolicy:
    """Tells honest polling from a loop. A setting below 1 means 1."""

    window: int = 10
    """How many of the last messages that ask for tools are looked at."""
    signature_threshold: int = 3
    """How often one call, name and arguments, may stand in the window: at this many the loop stops."""
    name_only_threshold: int | None = None
    """The same for one name with any arguments; None for no such rule."""

    @classmethod
    def from_mapping(cls, mapping: Any) -> LoopTerminationPolicy:
        """The policy of settings read by key or attribute; anything unreadable leaves that default in place."""
        defaults = cls()
        name_only = _setting(mapping, "name_only_threshold")
        return cls(
            window=_setting(mapping, "window") or defaults.window,
            signature_threshold=_setting(mapping, "signature_threshold") or defaults.signature_threshold,
            name_only_threshold=defaults.name_only_threshold if name_only is None else name_only,
        )

    def evaluate(self, messages: Sequence[Any]) -> TerminationVerdict:
        """Whether the loop stops after ``messages``.

        Args:
            messages: the conversation, oldest first, read by key or attribute. Results of tools are passed over, also
                at its end, so that it may be judged before or after the last calls were answered.
        Returns:
            The verdict. Every call of the last message is to be answered all the same.
        """
        spoken = [message for message in messages if not is_tool_result(message)]
        if not spoken or not calls_of(spoken[-1]):
            return TerminationVerdict(True, "no_tool_calls")
        asking = [calls for calls in map(calls_of, spoken) if calls]
        recent = [call for calls in asking[-max(1, self.window) :] for call in calls]
        repeated = _first_repeated(recent, [call.signature for call in recent], self.signature_threshold)
        if repeated is not None:
            times = max(1, self.signature_threshold)
            return TerminationVerdict(
                True, "repeated_signature", f"{repeated.name} was asked for {times} times with the same arguments"
            )
        if self.name_only_threshold is not None:
            named = _first_repeated(recent, [call.name for call in recent], self.name_only_threshold)
            if named is not None:
                times = max(1, self.name_only_threshold)
                return TerminationVerdict(True, "repeated_name", f"{named.name} was asked for {times} times")
        return TerminationVerdict(False, "continue")


def _first_repeated(calls: Iterable[ToolCall], keys: Iterable[str], threshold: int) -> ToolCall | None:
    seen: Counter[str] = Counter()
    for call, key in zip(calls, keys, strict=True):
        seen[key] += 1
        if seen[key] >= threshold:
            return call
    return None


def _setting(mapping: Any, name: str) -> int | None:
    value = read(mapping, name)
    return value if type(value) is int and value >= 1 else None
