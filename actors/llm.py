"""A child that is a chat model with a prompt and tools, all named by its options. Knows no fleet file and no key.

``build`` is for a fleet file; ``child`` gives a build with its options in it, which crosses to a host by pickle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from symfonic_ray.adapters.import_string import imported
from symfonic_ray.adapters.models import model_from
from symfonic_ray.agent import Agent, AgentResponse, ChatModel
from symfonic_ray.delegation.lockdown import SeeThrough

MODEL = "local"
SYSTEM_PROMPT = "You carry out one task for another agent. Answer in plain words, and only from what the task says."
MAX_HOPS = 16


class LlmChild(SeeThrough):
    """An agent together with the model that was made for it."""

    def __init__(self, agent: Agent, model: ChatModel) -> None:
        self.agent = agent
        self._model = model

    async def run(
        self,
        query: str,
        *,
        scope: object = None,
        run_id: str | None = None,
        agent_depth: int = 0,
        root_run_id: str | None = None,
        parent_run_id: str | None = None,
    ) -> AgentResponse:
        """Run the agent; see ``Agent.run``."""
        response: AgentResponse = await self.agent.run(
            query,
            scope=scope,
            run_id=run_id,
            agent_depth=agent_depth,
            root_run_id=root_run_id,
            parent_run_id=parent_run_id,
        )
        return response

    async def aclose(self) -> None:
        """Close the model, where it can be closed."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmBuild:
    """A build of an LLM child; holds names alone, so that it crosses to a host."""

    model: str = MODEL
    """A name for ``model_from``; its key is read from the host's environment."""
    system_prompt: str = SYSTEM_PROMPT
    tools: tuple[str, ...] = ()
    """Import strings of tools, such as ``my.tools:search``."""
    max_hops: int = MAX_HOPS
    """The model's turns in one run."""

    def __call__(self, scope: object) -> LlmChild:
        """The child of one scope.

        Raises:
            ModelError: when the model or a tool cannot be had.
        """
        tools: list[Any] = [imported(tool) for tool in self.tools]
        model = model_from(self.model)
        agent = Agent(model, tools, system_prompt=self.system_prompt, max_hops=self.max_hops)
        return LlmChild(agent, model)


def child(
    *,
    model: str = MODEL,
    system_prompt: str = SYSTEM_PROMPT,
    tools: tuple[str, ...] = (),
    max_hops: int = MAX_HOPS,
) -> LlmBuild:
    """A build for a ``ScopedChild``; see ``LlmBuild`` for what the options mean."""
    return LlmBuild(model=model, system_prompt=system_prompt, tools=tools, max_hops=max_hops)


def build(
    scope: object,
    *,
    model: str = MODEL,
    system_prompt: str = SYSTEM_PROMPT,
    tools: Iterable[str] = (),
    max_hops: int = MAX_HOPS,
) -> LlmChild:
    """The child of one scope, its options given at once, as a fleet file does; see ``LlmBuild``.

    Raises:
        ModelError: when the model or a tool cannot be had.
    """
    return LlmBuild(model=model, system_prompt=system_prompt, tools=tuple(tools), max_hops=max_hops)(scope)
