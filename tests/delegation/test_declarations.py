"""How a child is declared."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    ChildBuildError,
    ChildDeclaration,
    ChildDeclarationError,
    ChildSpec,
    PrebuiltChild,
    ScopedChild,
)
from symfonic_ray.testing import RecordingRunner
from tests.delegation.palettes import Mirage

FORMS: dict[str, Callable[..., ChildDeclaration]] = {
    "PrebuiltChild": lambda **fields: PrebuiltChild(**{"agent": RecordingRunner()} | fields),
    "ChildSpec": ChildSpec,
    "ScopedChild": lambda **fields: ScopedChild(**{"build": lambda scope: RecordingRunner()} | fields),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def scoped(build: Any) -> ScopedChild:
    return ScopedChild(name="memo", description="remembers", build=build)


@every_form
def test_every_form_holds_its_name_to_the_rules(form: Callable[..., ChildDeclaration]) -> None:
    with pytest.raises(ChildDeclarationError, match=r"U\+0020"):
        form(name="Billing Agent", description="d")


@every_form
@pytest.mark.parametrize("description", ["", " \n", "\u200b\u202e", None, 5], ids=ascii)
def test_every_form_refuses_a_blank_description(form: Callable[..., ChildDeclaration], description: object) -> None:
    with pytest.raises(ChildDeclarationError, match="description"):
        form(name="a", description=description)


@every_form
def test_every_form_refuses_guidance_that_is_not_text(form: Callable[..., ChildDeclaration]) -> None:
    with pytest.raises(ChildDeclarationError, match="when_to_use"):
        form(name="a", description="d", when_to_use=["now"])


@every_form
def test_every_form_keeps_what_was_declared(form: Callable[..., ChildDeclaration]) -> None:
    child = form(name="a", description="line\nline", when_to_use="now")
    assert (child.name, child.description, child.when_to_use) == ("a", "line\nline", "now")


def test_the_bare_declaration_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        ChildDeclaration(name="a", description="d")  # type: ignore[abstract]


def test_the_form_says_who_closes_the_child() -> None:
    owned = {name: form(name="a", description="d").owned for name, form in FORMS.items()}
    assert owned == {"PrebuiltChild": False, "ChildSpec": True, "ScopedChild": True}


class SourRun:
    @property
    def run(self) -> None:
        raise RuntimeError("no")


@pytest.mark.parametrize("agent", [None, "text", object(), SimpleNamespace(run=3), SourRun()], ids=repr)
def test_a_handed_agent_needs_a_callable_run(agent: object) -> None:
    with pytest.raises(ChildDeclarationError, match="callable run"):
        PrebuiltChild(name="a", description="d", agent=agent)


def test_a_proxy_is_taken_as_it_is() -> None:
    proxy = Mirage()
    assert PrebuiltChild(name="a", description="d", agent=proxy).agent is proxy


def test_a_spec_freezes_its_palette() -> None:
    mine = ["search"]
    spec = ChildSpec(name="a", description="d", tools=mine)  # type: ignore[arg-type]
    mine.append("late")
    assert spec.tools == ("search",)


@pytest.mark.parametrize("tools", ["search", b"search", 3], ids=repr)
def test_a_palette_that_is_no_list_is_refused(tools: Any) -> None:
    with pytest.raises(ChildDeclarationError, match="tools"):
        ChildSpec(name="a", description="d", tools=tools)


@pytest.mark.parametrize(("own", "effective"), [(None, "reads"), ("law", "law"), ("", "")])
def test_a_domain_falls_back_to_the_description(own: str | None, effective: str) -> None:
    assert ChildSpec(name="a", description="reads", domain_description=own).effective_domain_description == effective


def test_no_repr_shows_an_agent_a_config_or_a_provider() -> None:
    canary = SimpleNamespace(run=print, key="canary-7")
    shown = [
        repr(PrebuiltChild(name="a", description="d", agent=canary)),
        repr(ChildSpec(name="a", description="d", config=canary, provider=canary)),
    ]
    assert not any("canary-7" in text for text in shown)


def test_a_scoped_child_is_built_with_its_scope() -> None:
    scopes: list[object] = []
    agent = RecordingRunner()

    def build(scope: object) -> RecordingRunner:
        scopes.append(scope)
        return agent

    assert scoped(build).for_scope("acme") is agent
    assert scopes == ["acme"]


def test_a_scoped_child_without_a_scope_is_refused_by_name_and_not_built() -> None:
    built: list[object] = []
    with pytest.raises(ChildDeclarationError, match=r"'memo'.*no scope"):
        scoped(built.append).for_scope(None)
    assert built == []


@pytest.mark.parametrize("given", [None, object(), SimpleNamespace(run=3)], ids=["None", "object", "run is 3"])
def test_a_build_that_gives_no_agent_is_refused_by_name(given: object) -> None:
    with pytest.raises(ChildDeclarationError, match=r"'memo'.*callable run"):
        scoped(lambda scope: given).for_scope("acme")


def test_a_build_that_raises_is_refused_by_name_with_its_cause() -> None:
    def build(scope: object) -> None:
        raise KeyError("db-url")

    with pytest.raises(ChildBuildError, match=r"'memo'.*KeyError: 'db-url'") as caught:
        scoped(build).for_scope("acme")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.reason == "build_failed"


def test_an_async_build_is_refused_in_process() -> None:
    async def build(scope: object) -> RecordingRunner:
        return RecordingRunner()

    with pytest.raises(ChildDeclarationError, match=r"'memo'.*async"):
        scoped(build).for_scope("acme")


def build_for_import(scope: object) -> RecordingRunner:
    """A build that the tests below name by import string."""
    return RecordingRunner(f"of {scope}")


NOT_A_BUILD = 3


async def test_a_build_may_be_named_by_an_import_string() -> None:
    agent = scoped(f"{__name__}:build_for_import").for_scope("acme")
    assert await agent.run("t") == "of acme"


@pytest.mark.parametrize(
    "text", ["", "module", "a.b.c", ":attr", "mod:", "mod:a b", "../mod:a", "mod:attr()", "1mod:a"]
)
def test_a_string_of_another_form_is_refused_when_declared(text: str) -> None:
    with pytest.raises(ChildDeclarationError, match="import string"):
        scoped(text)


def test_a_build_that_is_neither_callable_nor_string_is_refused() -> None:
    with pytest.raises(ChildDeclarationError, match="callable"):
        scoped(3)


@pytest.mark.parametrize("text", ["no_such_module_here:build", f"{__name__}:no_such_name", f"{__name__}:NOT_A_BUILD"])
def test_an_import_string_that_leads_nowhere_is_refused_by_child_and_string(text: str) -> None:
    child = scoped(text)
    with pytest.raises(ChildDeclarationError) as caught:
        child.for_scope("acme")
    assert "'memo'" in str(caught.value)
    assert text in str(caught.value)
