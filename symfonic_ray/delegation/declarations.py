"""How a child is declared: handed over, described, or built per scope. Builds nothing until asked.

Two owners: what the caller built the caller closes; what was built from a declaration is closed by who built it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from symfonic_ray.delegation.errors import ChildBuildError, ChildDeclarationError
from symfonic_ray.delegation.names import check_child_name
from symfonic_ray.delegation.values import shown
from symfonic_ray.kernel.text import collapsed, failure_line

_IMPORT_STRING = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDeclaration(ABC):
    """What every form of child declares.

    Raises:
        ChildDeclarationError: for a name that a model cannot type literally, or a blank description.
    """

    name: str
    """1 to 64 visible characters without whitespace; matched literally against what a model typed."""
    description: str
    """What the child is for; a model reads its first 512 characters on one line."""
    when_to_use: str | None = None

    def __post_init__(self) -> None:
        check_child_name(self.name)
        if not isinstance(self.description, str) or not collapsed(self.description):
            raise ChildDeclarationError(self.name, "its description is blank; say in a line what the child is for")
        if self.when_to_use is not None and not isinstance(self.when_to_use, str):
            raise ChildDeclarationError(self.name, f"when_to_use is {shown(self.when_to_use)}; give a string or None")

    @property
    @abstractmethod
    def owned(self) -> bool:
        """Whether who composes the child also closes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrebuiltChild(ChildDeclaration):
    """A child that the caller built and will close: an agent, an adapter, a proxy of one elsewhere."""

    agent: Any = field(repr=False)  # Any: known by a callable ``run`` alone; not shown, it may hold secrets

    def __post_init__(self) -> None:
        ChildDeclaration.__post_init__(self)
        if not has_run(self.agent):
            raise ChildDeclarationError(
                self.name, f"its agent, a {type(self.agent).__name__}, has no callable run; give an object with one"
            )

    @property
    def owned(self) -> bool:
        """False: the caller closes it."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec(ChildDeclaration):
    """A child that is described, and that the parent's builder builds."""

    tools: tuple[Any, ...] = ()
    """The child's whole palette."""
    domain_description: str | None = None
    model_name: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    provider: Any = field(default=None, repr=False)  # Any: the adopter's own type; not shown, it may hold secrets
    config: Any = field(default=None, repr=False)  # Any: likewise
    """A config of its own: inherits nothing, and is sanitised rather than trusted."""

    def __post_init__(self) -> None:
        ChildDeclaration.__post_init__(self)
        given: object = self.tools  # a caller may give any iterable, or by mistake one string
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise ChildDeclarationError(self.name, f"its tools are {shown(given)}; give a list of tools")
        object.__setattr__(self, "tools", tuple(given))

    @property
    def owned(self) -> bool:
        """True: the composition closes it."""
        return True

    @property
    def effective_domain_description(self) -> str:
        """The domain that the child's config gets: its own, else its description."""
        return self.description if self.domain_description is None else self.domain_description


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedChild(ChildDeclaration):
    """A child that is built once per scope and never rebound."""

    build: Callable[[Any], Any] | str = field(repr=False)
    """Takes the scope, gives the agent; or an import string ``package.module:attr`` of such a callable."""

    def __post_init__(self) -> None:
        ChildDeclaration.__post_init__(self)
        if isinstance(self.build, str):
            if not _IMPORT_STRING.fullmatch(self.build):
                raise ChildDeclarationError(
                    self.name, f"its build {shown(self.build)} is no import string; write it as 'package.module:attr'"
                )
        elif not callable(self.build):
            raise ChildDeclarationError(
                self.name,
                f"its build is {shown(self.build)}; give a callable that takes the scope, or an import string",
            )

    @property
    def owned(self) -> bool:
        """True: the composition closes it."""
        return True

    def factory(self) -> Callable[[Any], Any]:
        """The callable that builds the agent; an import string is imported here.

        Raises:
            ChildDeclarationError: naming the child and the string, if it does not lead to a callable.
        """
        if not isinstance(self.build, str):
            return self.build
        module, _, path = self.build.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for attribute in path.split("."):
                found = getattr(found, attribute)
        except Exception as error:
            raise ChildDeclarationError(
                self.name, f"its build {self.build!r} cannot be imported: {failure_line(error)}"
            ) from error
        if not callable(found):
            raise ChildDeclarationError(
                self.name, f"its build {self.build!r} is a {type(found).__name__}, not a callable"
            )
        return found  # type: ignore[no-any-return]  # callable, and its signature is the user's

    def for_scope(self, scope: Any) -> Any:
        """A new agent for ``scope``.

        Raises:
            ChildDeclarationError: for the scope None, a build that cannot be imported, or one that gives no agent.
            ChildBuildError: if the build itself raised; chained to what it raised.
        """
        self.check_scope(scope)
        factory = self.factory()
        try:
            agent = factory(scope)
        except Exception as error:
            raise ChildBuildError(self.name, "build_failed", failure_line(error)) from error
        return self.checked(agent)

    def check_scope(self, scope: Any) -> None:
        """Refuse to build without a scope: a scopeless child is one shared by every tenant."""
        if scope is None:
            raise ChildDeclarationError(
                self.name, "is built per scope and no scope was given; pass scope=..., or hand over a PrebuiltChild"
            )

    def checked(self, agent: Any) -> Any:
        """What the build gave, if it is an agent."""
        if inspect.isawaitable(agent):
            if inspect.iscoroutine(agent):
                agent.close()  # nobody will await it, and leaving it open warns
            raise ChildDeclarationError(
                self.name, "its build is async; in this process it must give the agent itself, not an awaitable"
            )
        if not has_run(agent):
            raise ChildDeclarationError(
                self.name, f"its build gave {shown(agent)}, which has no callable run; return the agent"
            )
        return agent


def has_run(agent: object) -> bool:
    """Whether ``agent`` can be run at all."""
    try:
        return callable(getattr(agent, "run", None))
    except Exception:
        return False
