"""A LangChain runnable as a child: a chain, a chat model, a prompt with one. Decides the input that a task becomes.

Usage is what LangChain's own callback counts over every model inside. Cancelling the run cancels the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from symfonic_ray.adapters.foreign_child import ChildRun, ForeignAnswer, ForeignChild, tokens_used
from symfonic_ray.adapters.foreign_error import ForeignAgentError, kind_of
from symfonic_ray.adapters.langchain_palette import langchain_palette
from symfonic_ray.agent.messages import text_of

ANSWER_KEYS = ("output", "answer", "final_response", "result")
RUN_KEY = "symfonic_run"
"""Where a runnable finds its ``ChildRun``: ``config["configurable"]["symfonic_run"]``."""


class LangChainChild(ForeignChild):
    """Calls ``ainvoke`` with the task in the shape that the runnable's input schema asks for."""

    def __init__(
        self,
        agent: Any,
        *,
        to_input: Callable[[str], Any] | None = None,
        to_answer: Callable[[Any], Any] | None = None,
    ) -> None:
        """Read the input schema, once.

        Args:
            agent: a runnable.
            to_input: the runnable's input for a task, where the schema does not lead to one.
            to_answer: the answer in the runnable's output, where it is not found by itself.
        Raises:
            ForeignAgentError: for an input of several fields and no ``to_input``.
        """
        self.agent = agent
        self._to_input = to_input or _input_shape(agent)
        self._to_answer = to_answer or answer_in

    async def answer(self, query: str, run: ChildRun) -> ForeignAnswer:
        """Invoke the runnable; its config carries the lineage as metadata and the run itself as configurable."""
        from langchain_core.callbacks import UsageMetadataCallbackHandler

        counted = UsageMetadataCallbackHandler()
        config = {"callbacks": [counted], "metadata": run.lineage, "configurable": {RUN_KEY: run}}
        output = await self.invoke(self._to_input(query), config, run)
        usage = tokens_used(*counted.usage_metadata.values())
        problem = self.problem(output)
        if problem:
            return ForeignAnswer(final_response=None, error=problem, usage=usage)
        return ForeignAnswer(final_response=self._to_answer(output), usage=usage)

    async def invoke(self, given: Any, config: dict[str, Any], run: ChildRun) -> Any:
        """The runnable's output."""
        return await self.agent.ainvoke(given, config)

    def problem(self, output: Any) -> str:
        """Why an output is no answer; empty when it is one."""
        return ""

    def palette(self) -> tuple[str, ...]:
        """The tools bound to any model inside."""
        return langchain_palette(self.agent)


def answer_in(output: Any) -> Any:
    """The answer in what a runnable gave: the last message, or the field that says it, or all of it."""
    if not isinstance(output, Mapping):
        content = getattr(output, "content", None)
        return output if content is None else text_of(content)
    if output.get("structured_response") is not None:
        return output["structured_response"]
    messages = output.get("messages")
    if isinstance(messages, (list, tuple)) and messages:
        return answer_in(messages[-1])
    for key in ANSWER_KEYS:
        if output.get(key) is not None:
            return answer_in(output[key])
    return answer_in(next(iter(output.values()))) if len(output) == 1 else output


def _input_shape(runnable: Any) -> Callable[[str], Any]:
    names = _input_fields(runnable)
    if not names:
        return _as_text
    if "messages" in names:
        return _as_messages
    if len(names) == 1:
        return lambda task: {names[0]: task}
    raise ForeignAgentError(
        kind_of(runnable),
        f"takes an input of the fields {', '.join(names)}",
        f"say what they are for a task: to_input=lambda task: {{{names[0]!r}: task, ...}}",
    )


def _input_fields(runnable: Any) -> list[str]:
    """The fields of a mapping that the runnable takes; none where it takes something else."""
    graph = getattr(runnable, "builder", None)
    schemas = getattr(graph, "schemas", None)
    if isinstance(schemas, Mapping):  # a graph's state; its JSON schema fails for typing.TypedDict before Python 3.12
        return list(schemas.get(getattr(graph, "input_schema", None), ()))
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # a type without a schema: the runnable takes what it takes
        return []
    fields = schema.get("properties") or {}
    return list(schema.get("required") or fields) if schema.get("type") == "object" else []


def _as_text(task: str) -> Any:
    return task


def _as_messages(task: str) -> Any:
    return {"messages": [("user", task)]}
