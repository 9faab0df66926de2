"""The loop that ties a chat model, tools and delegation together. Models are a port: no model class is imported.

Pure: the standard library, the kernel, delegation and execution. A schema for a plain function needs pydantic, which
is imported where an agent is given one.
"""

from symfonic_ray.agent.agent import Agent
from symfonic_ray.agent.conversation import current_messages
from symfonic_ray.agent.events import (
    AgentEvent,
    DelegationEnded,
    DelegationStarted,
    RunEnded,
    TextDelta,
    ToolAnswered,
    ToolProgressed,
    ToolRequested,
)
from symfonic_ray.agent.messages import Message
from symfonic_ray.agent.model import ChatModel
from symfonic_ray.agent.palette import ToolNameError
from symfonic_ray.agent.responses import STOP_REASONS, AgentReport, AgentResponse
from symfonic_ray.agent.stream import AgentStream
from symfonic_ray.agent.untrusted import wrapped
from symfonic_ray.kernel.tokens import Tokens

__all__ = [
    "STOP_REASONS",
    "Agent",
    "AgentEvent",
    "AgentReport",
    "AgentResponse",
    "AgentStream",
    "ChatModel",
    "DelegationEnded",
    "DelegationStarted",
    "Message",
    "RunEnded",
    "TextDelta",
    "Tokens",
    "ToolAnswered",
    "ToolNameError",
    "ToolProgressed",
    "ToolRequested",
    "current_messages",
    "wrapped",
]
