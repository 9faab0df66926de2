"""The form of a fleet file: which keys there are and of what kind. Knows no file, no line, no import.

The keys of ``placement``, ``limits`` and ``run_limits`` are those of the admission room, read from there.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from symfonic_ray.admission import Placement, PoolLimits, RunLimits
from symfonic_ray.delegation import DEFAULT_MAX_DEPTH

_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)

FleetName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]  # stands in process titles


class ChildForm(BaseModel):
    """One entry of ``children``."""

    model_config = _STRICT

    name: str
    """What a model types to reach the child."""
    description: str
    """What the child does; the model reads it."""
    when_to_use: str | None = None
    """When to choose it; the model reads it."""
    build: str
    """``package.module:attribute`` of a factory ``build(scope, **options) -> agent``."""
    options: Annotated[dict[str, JsonValue], Field(default_factory=dict, repr=False)]
    """What the factory is given besides the scope; not shown, a reference may have put a secret here."""
    placement: Annotated[Placement, Field(default_factory=Placement)]
    """Where it runs and how many runs it takes at a time."""


class FleetForm(BaseModel):
    """A fleet file."""

    model_config = _STRICT

    version: Literal[1]
    """Of this form."""
    name: FleetName
    """Of the fleet."""
    parent: str | None = None
    """``package.module:attribute`` of the agent that gets the question, in the command's own process."""
    parent_options: Annotated[dict[str, JsonValue], Field(default_factory=dict, repr=False)]
    """What the parent's factory is given besides the scope; not shown, likewise."""
    model: str | None = None
    """The language model of every factory that takes one and is given no other, such as ``openai:gpt-5-mini``."""
    entry: str | None = None
    """The child that gets the question, where there is no parent."""
    max_depth: Annotated[int, Field(ge=0)] = DEFAULT_MAX_DEPTH
    """How deep a run may hand work on; 0 turns delegation off."""
    children: Annotated[tuple[ChildForm, ...], Field(min_length=1)]
    """The children, in the order in which a model sees them."""
    limits: Annotated[PoolLimits, Field(default_factory=PoolLimits)]
    """Bounds of the pool."""
    run_limits: Annotated[RunLimits, Field(default_factory=RunLimits)]
    """Bounds of one tree of runs."""
