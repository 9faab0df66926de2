"""What a tool needs and may do, beside what it is called with. Describes; runs nothing and admits nothing."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from importlib import import_module
from typing import Any, Literal, TypeAlias, overload

Placement: TypeAlias = Literal["process", "task"]
Isolation: TypeAlias = Literal["shared", "task"]


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    """What the phases need to know of one tool."""

    name: str
    """The name that the model calls it by."""
    requires: type | None = None
    """The capability that must be present; None for none."""
    max_calls_per_invocation: int | None = None
    """How many calls one invocation may make; None for no bound."""
    _: KW_ONLY
    description: str = ""
    """What the model reads of the tool."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the arguments object; empty where it is not known."""
    idempotent: bool = False
    """Whether a call whose effect is unknown may be made again."""
    num_cpus: float | None = None
    """Cores that one running call holds; None for the dispatcher's own default."""
    num_gpus: float = 0.0
    """GPUs that one running call holds."""
    memory: int | None = None
    """Bytes of memory that one running call is promised; None for no promise."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom resources of the cluster that one running call holds."""
    placement: Placement = "task"
    """``process``: only in the process that holds the tool; ``task``: wherever the dispatcher likes."""
    isolation: Isolation | None = None
    """``shared``: calls may share a worker; ``task``: one of its own; None for the default of the tool's kind."""
    timeout_seconds: float | None = None
    """Time for one call with all its attempts and pauses; None for no limit."""


class DuplicateToolError(ValueError):
    """Two tools of one name: a call could not be told to mean either."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"two tools are named {self.name!r}; give each its own name"


class Tool:
    """A function with a descriptor. Callable like the function, and picklable like it."""

    def __init__(self, function: Callable[..., Any], descriptor: ToolDescriptor) -> None:
        self.function = function
        self.descriptor = descriptor
        self.__name__ = self.name = descriptor.name
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__

    @property
    def description(self) -> str:
        """What the model reads of the tool."""
        return self.descriptor.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the arguments object."""
        return self.descriptor.parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function answers; Any because it is the user's own."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The decorated name stands for the tool, so the function alone could not be found again by its own name.
        if self.__module__ != "__main__" and _named(self.__module__, self.__qualname__) is self:
            return _imported, (self.__module__, self.__qualname__)
        return Tool, (self.function, self.descriptor)


def _named(module: str, qualname: str) -> Any:
    return reduce(lambda holder, name: getattr(holder, name, None), qualname.split("."), sys.modules.get(module))


def _imported(module: str, qualname: str) -> Any:
    import_module(module)
    return _named(module, qualname)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    requires: type | None = None,
    max_calls_per_invocation: int | None = None,
    idempotent: bool = False,
    num_cpus: float | None = None,
    num_gpus: float = 0.0,
    memory: int | None = None,
    resources: Mapping[str, float] | None = None,
    placement: Placement = "task",
    isolation: Isolation | None = None,
    timeout_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function, bare or with the fields of ``ToolDescriptor`` as options.

    The schema is read from the annotations by pydantic, the texts from the docstring; both are imported only here.

    Args:
        function: the function, where the decorator is used bare.
        name: the tool's name; the function's own where None.
        description: what the model reads; the docstring's description where None.
        options: the other fields of ``ToolDescriptor``, ``parameters`` excepted.
    Raises:
        pydantic.errors.PydanticUserError: for an annotation that has no JSON schema.
    """

    def made(function: Callable[..., Any]) -> Tool:
        described, parameters = _read(function)
        descriptor = ToolDescriptor(
            name=name or function.__name__,
            description=described if description is None else description,
            parameters=parameters,
            **{option: value for option, value in options.items() if value is not None},
        )
        if descriptor.isolation is None:
            descriptor = replace(descriptor, isolation="shared" if is_asynchronous(function) else "task")
        return Tool(function, descriptor)

    return made if function is None else made(function)


def descriptors_by_name(catalog: Iterable[Any]) -> dict[str, ToolDescriptor]:
    """The descriptors of ``catalog`` by tool name, in its order.

    Args:
        catalog: descriptors, or tools that carry one.
    Raises:
        DuplicateToolError: where two share a name; a budget must not be lost to another.
    """
    read: dict[str, ToolDescriptor] = {}
    for entry in catalog:
        descriptor: ToolDescriptor = entry if isinstance(entry, ToolDescriptor) else entry.descriptor
        if descriptor.name in read:
            raise DuplicateToolError(descriptor.name)
        read[descriptor.name] = descriptor
    return read


def is_asynchronous(function: Any) -> bool:
    """Whether calling ``function`` blocks nothing: it is a coroutine or async generator function. Any: foreign."""
    called = function.function if isinstance(function, Tool) else function
    forms = (called, getattr(called, "__call__", None))  # noqa: B004 - the method of a callable object, not a test
    return any(inspect.iscoroutinefunction(form) or inspect.isasyncgenfunction(form) for form in forms)


def _read(function: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """The description and the parameters' schema of a function, from its docstring and its annotations."""
    from docstring_parser import parse
    from pydantic import TypeAdapter

    texts = parse(inspect.getdoc(function) or "")
    adapter: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]  # a function, which pydantic reads too
    schema = adapter.json_schema()
    for parameter in texts.params:
        shown = schema.get("properties", {}).get(parameter.arg_name)
        if shown is not None and parameter.description:
            shown.setdefault("description", parameter.description)
    described = "\n\n".join(text for text in (texts.short_description, texts.long_description) if text)
    return described, schema
