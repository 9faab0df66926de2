"""From declarations to children, and back when one of them fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    ChildBuildError,
    ChildBuildPlan,
    ChildCompiler,
    ChildDeclaration,
    ChildDeclarationError,
    ChildLockdownError,
    ChildSpec,
    CompiledChildren,
    DuplicateChildError,
    PrebuiltChild,
    ScopedChild,
    UnsanitisableChildConfigError,
)
from symfonic_ray.testing import PlainInheritance, RecordingBuilder, RecordingRunner
from tests.delegation.palettes import ToolsAgent


class Flagged:
    """A config that asks for self-edit and can be copied."""

    def __init__(self, asks: bool = True) -> None:
        self.prompt_block_self_edit = asks

    def model_copy(self, *, update: Mapping[str, Any]) -> Flagged:
        return Flagged(update["prompt_block_self_edit"])


def spec(name: str, **more: Any) -> ChildSpec:
    return ChildSpec(name=name, description=f"does {name}", **more)


def handed(name: str, agent: object | None = None) -> PrebuiltChild:
    return PrebuiltChild(name=name, description=f"does {name}", agent=agent or RecordingRunner())


def compiled(declarations: list[Any], builder: RecordingBuilder, **more: Any) -> CompiledChildren:
    compiler = ChildCompiler(builder=builder, inheritance=PlainInheritance())
    return compiler.compile(declarations, **{"parent_config": {"model": "m"}} | more)


def test_children_keep_their_order_and_only_built_ones_are_owned() -> None:
    builder, agent = RecordingBuilder(), RecordingRunner()
    children = compiled([spec("a"), handed("b", agent), spec("c")], builder)
    assert [(entry.name, entry.owned) for entry in children.entries] == [("a", True), ("b", False), ("c", True)]
    assert children.owned == tuple(builder.built)
    assert children.entries[1].runner is agent
    assert children.roster().names == ("a", "b", "c")
    assert children.owned_names() == ("a", "c")


def test_a_duplicate_is_refused_before_anything_is_built() -> None:
    builder = RecordingBuilder()
    with pytest.raises(DuplicateChildError, match="'a'"):
        compiled([spec("a"), spec("b"), handed("a")], builder)
    assert builder.plans == []


class OddChild(ChildDeclaration):
    @property
    def owned(self) -> bool:
        return True


@pytest.mark.parametrize("stranger", [object(), {"name": "b"}, None, OddChild(name="b", description="d")], ids=type)
def test_a_form_that_is_not_known_is_a_type_error_before_anything_is_built(stranger: object) -> None:
    builder = RecordingBuilder()
    with pytest.raises(TypeError):
        compiled([spec("a"), stranger], builder)
    assert builder.plans == []


def test_a_scoped_child_is_built_with_the_scope() -> None:
    scopes: list[object] = []

    def build(scope: object) -> RecordingRunner:
        scopes.append(scope)
        return RecordingRunner()

    compiled([ScopedChild(name="memo", description="d", build=build)], RecordingBuilder(), scope="acme")
    assert scopes == ["acme"]


def test_a_scoped_child_without_a_scope_is_refused_before_anything_is_built() -> None:
    builder = RecordingBuilder()
    with pytest.raises(ChildDeclarationError, match="memo"):
        compiled([spec("a"), ScopedChild(name="memo", description="d", build=lambda scope: RecordingRunner())], builder)
    assert builder.plans == []


class WatchedInheritance(PlainInheritance):
    def __init__(self) -> None:
        self.overrides: list[dict[str, Any]] = []

    def inherit(self, parent_config: Mapping[str, Any] | None, **overrides: Any) -> dict[str, Any]:
        self.overrides.append(overrides)
        return super().inherit(parent_config, **overrides)


def test_only_overrides_that_were_given_are_passed_on() -> None:
    inheritance, builder = WatchedInheritance(), RecordingBuilder()
    ChildCompiler(builder=builder, inheritance=inheritance).compile(
        [spec("a"), spec("b", model_name="m2", temperature=0.0, max_tokens=7, domain_description="law")],
        parent_config={"model": "m"},
    )
    assert inheritance.overrides == [
        {"domain_description": "does a"},
        {"domain_description": "law", "model_name": "m2", "temperature": 0.0, "max_tokens": 7},
    ]
    assert builder.plans[0].config == {"model": "m", "domain_description": "does a"}


def test_a_config_of_its_own_inherits_nothing() -> None:
    own, builder = SimpleNamespace(prompt_block_self_edit=False), RecordingBuilder()
    compiled([spec("a", config=own)], builder)
    assert builder.plans[0].config is own


def test_a_config_of_its_own_is_sanitised() -> None:
    own, builder = Flagged(), RecordingBuilder()
    compiled([spec("a", config=own)], builder)
    assert builder.plans[0].config.prompt_block_self_edit is False
    assert own.prompt_block_self_edit is True


def test_a_config_that_cannot_be_sanitised_stops_everything_before_anything_is_built() -> None:
    builder = RecordingBuilder()
    with pytest.raises(UnsanitisableChildConfigError, match="'b'"):
        compiled([spec("a"), spec("b", config=SimpleNamespace(prompt_block_self_edit=True))], builder)
    assert builder.plans == []


def test_a_plan_carries_all_that_a_builder_needs() -> None:
    memory, provider, own, builder = object(), object(), object(), RecordingBuilder()
    children = [spec("a", tools=["search"], when_to_use="for law"), spec("b", provider=own)]
    compiled(children, builder, parent_provider=provider, shared={"memory": memory, "n": None})
    first, second = builder.plans
    assert (first.name, first.description, first.tools, first.when_to_use) == ("a", "does a", ("search",), "for law")
    assert (first.provider, second.provider) == (provider, own)
    assert first.shared == second.shared == {"memory": memory, "n": None}


def failing_at(name: str, error: BaseException) -> RecordingBuilder:
    def make(plan: ChildBuildPlan) -> RecordingRunner:
        if plan.name == name:
            raise error
        return RecordingRunner()

    return RecordingBuilder(make)


def test_a_failed_build_closes_what_was_built_and_spares_what_was_handed() -> None:
    builder, mine = failing_at("c", KeyError("db-url")), RecordingRunner()
    with pytest.raises(ChildBuildError, match=r"'c'.*KeyError: 'db-url'") as caught:
        compiled([handed("mine", mine), spec("a"), spec("b"), spec("c"), spec("d")], builder)
    assert isinstance(caught.value.__cause__, KeyError)
    assert [child.clean_up for child in builder.built] == [["aclose"], ["aclose"]]
    assert [plan.name for plan in builder.plans] == ["a", "b", "c"]
    assert mine.clean_up == []


async def test_a_failed_build_closes_what_was_built_under_a_running_loop_too() -> None:
    builder = failing_at("b", KeyError("db-url"))
    with pytest.raises(ChildBuildError):
        compiled([spec("a"), spec("b")], builder)
    assert builder.built[0].clean_up == ["aclose"]


def test_an_exit_from_a_build_leaves_as_it_is_and_still_closes() -> None:
    builder = failing_at("b", SystemExit(3))
    with pytest.raises(SystemExit) as leave:
        compiled([spec("a"), spec("b")], builder)
    assert leave.value.code == 3
    assert builder.built[0].clean_up == ["aclose"]


class SourClose(RecordingRunner):
    async def aclose(self) -> None:
        raise OSError("socket stuck")


class BlockedClose(RecordingRunner):
    def __init__(self) -> None:
        super().__init__()
        self.thread = ""

    async def aclose(self) -> None:
        self.thread = threading.current_thread().name
        await asyncio.sleep(0)


def test_a_close_that_fails_becomes_a_note_of_the_first_error() -> None:
    runners = {"a": SourClose(), "b": RecordingRunner()}

    def make(plan: ChildBuildPlan) -> RecordingRunner:
        return runners[plan.name]

    with pytest.raises(ChildBuildError, match="'c'") as caught:
        compiled([spec("a"), spec("b"), spec("c")], RecordingBuilder(make))
    assert [note.startswith("a: ") and "socket stuck" in note for note in caught.value.__notes__] == [True]
    assert runners["b"].clean_up == ["aclose"]


async def test_closing_happens_in_a_thread_of_its_own() -> None:
    child = BlockedClose()
    with pytest.raises(ChildBuildError):
        compiled([spec("a"), spec("b")], RecordingBuilder(lambda plan: {"a": child}[plan.name]))
    assert child.thread == "symfonic-ray-rollback"


class HungClose(RecordingRunner):
    async def aclose(self) -> None:
        await asyncio.Event().wait()


def test_a_close_that_hangs_is_left_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symfonic_ray.delegation.rollback.CLOSE_SECONDS", 0.1)
    runners = {"a": HungClose(), "b": RecordingRunner()}
    started = time.monotonic()
    with pytest.raises(ChildBuildError) as caught:
        compiled([spec("a"), spec("b"), spec("c")], RecordingBuilder(lambda plan: runners[plan.name]))
    assert time.monotonic() - started < 2
    assert caught.value.__notes__[0].startswith("a: aclose did not end")
    assert runners["b"].clean_up == ["aclose"]


def test_a_built_child_with_a_write_surface_is_refused_and_closed() -> None:
    bad = ToolsAgent("memory_block_append")
    with pytest.raises(ChildLockdownError, match="'b'"):
        compiled([spec("a"), spec("b")], RecordingBuilder(lambda plan: bad if plan.name == "b" else RecordingRunner()))
    assert bad.clean_up == ["aclose"]


def test_a_handed_child_with_a_write_surface_is_refused_and_left_to_its_owner() -> None:
    bad = ToolsAgent("memory_block_append")
    with pytest.raises(ChildLockdownError, match="'b'"):
        compiled([handed("b", bad)], RecordingBuilder())
    assert bad.clean_up == []


def test_a_builder_that_gives_no_agent_is_refused_by_the_child_s_name() -> None:
    with pytest.raises(ChildDeclarationError, match=r"'a'.*callable run"):
        compiled([spec("a")], RecordingBuilder(lambda plan: None))
