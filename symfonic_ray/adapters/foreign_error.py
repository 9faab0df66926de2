"""What a foreign agent can be wrong about before it ever runs. Knows no kind of agent."""

from __future__ import annotations


class ForeignAgentError(TypeError):
    """An agent that cannot be brought as a child in the way it was given."""

    def __init__(self, agent: str, problem: str, remedy: str) -> None:
        super().__init__(agent, problem, remedy)
        self.agent, self.problem, self.remedy = agent, problem, remedy

    def __str__(self) -> str:
        return f"the agent {self.agent[:200]} {self.problem}; {self.remedy}"


def kind_of(agent: object) -> str:
    """The type of ``agent`` with its module, for words."""
    return f"{type(agent).__module__}.{type(agent).__qualname__}"
