"""The short way to a capability, and the adapter of foreign agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from symfonic_ray.delegation import (
    ChildDeclaration,
    ChildDeclarationError,
    ChildLockdownError,
    ChildSpec,
    DelegationContext,
    DelegationOutcome,
    DuplicateChildError,
    PrebuiltChild,
    ScopedChild,
    adapt_child,
    child_roster,
    delegated_children,
)
from symfonic_ray.kernel import RunIdentity, run_identity
from symfonic_ray.testing import RecordingRunner, RecordingSnapshots
from tests.delegation.palettes import Mirage, ToolsAgent

COMPOSE: list[Callable[..., Any]] = [child_roster, delegated_children]
each_way = pytest.mark.parametrize("compose", COMPOSE, ids=lambda compose: compose.__name__)


def handed(name: str, agent: object | None = None) -> PrebuiltChild:
    return PrebuiltChild(name=name, description="d", agent=agent or RecordingRunner())


def scoped(name: str, build: Callable[[Any], Any]) -> ScopedChild:
    return ScopedChild(name=name, description="d", build=build)


class PromptAgent:
    """Speaks ``run(prompt)`` and looks at the run that it is in."""

    def __init__(self) -> None:
        self.context = DelegationContext()
        self.seen: list[tuple[str, int, str]] = []
        self.clean_up: list[str] = []

    async def run(self, prompt: str) -> str:
        run = self.context.current_run()
        self.seen.append((prompt, self.context.current_depth(), "" if run is None else run.run_id))
        return "42"

    async def flush_background_tasks(self) -> None:
        self.clean_up.append("flush")

    async def aclose(self) -> None:
        self.clean_up.append("aclose")


@each_way
def test_a_duplicate_is_refused_before_anything_is_built(compose: Callable[..., Any]) -> None:
    built: list[object] = []
    with pytest.raises(DuplicateChildError, match="'a'"):
        compose([scoped("a", built.append), handed("b"), scoped("a", built.append)], scope="acme")
    assert built == []


@each_way
def test_a_described_child_is_a_type_error_that_names_the_way_out(compose: Callable[..., Any]) -> None:
    built: list[object] = []
    with pytest.raises(TypeError, match=r"'b' is a ChildSpec.*DelegationCapability\.compile"):
        compose([scoped("a", built.append), ChildSpec(name="b", description="d")], scope="acme")
    assert built == []


@each_way
def test_a_scoped_child_without_a_scope_is_refused_by_name(compose: Callable[..., Any]) -> None:
    built: list[object] = []
    with pytest.raises(ChildDeclarationError, match="'memo'"):
        compose([scoped("memo", built.append)])
    assert built == []


@each_way
def test_a_write_surface_is_refused_and_what_was_built_is_closed(compose: Callable[..., Any]) -> None:
    good, bad = RecordingRunner(), ToolsAgent("memory_block_append")
    with pytest.raises(ChildLockdownError, match="'bad'"):
        compose([scoped("good", lambda scope: good), scoped("bad", lambda scope: bad)], scope="acme")
    assert (good.clean_up, bad.clean_up) == (["aclose"], ["aclose"])


class TurnsBad(RecordingRunner):
    """Shows a write surface only from the second look on."""

    looks = 0

    def palette(self) -> list[str]:
        self.looks += 1
        return ["memory_block_append"] if self.looks > 1 else []


@each_way
def test_a_write_surface_found_by_the_roster_closes_what_was_built_too(compose: Callable[..., Any]) -> None:
    child = TurnsBad()
    with pytest.raises(ChildLockdownError):
        compose([scoped("a", lambda scope: child)], scope="acme")
    assert child.clean_up == ["aclose"]


def test_no_children_are_an_empty_roster() -> None:
    assert child_roster([]).names == ()


def test_no_children_are_no_capability() -> None:
    with pytest.raises(ValueError, match="no children"):
        delegated_children([])


async def test_a_scoped_child_is_built_once_and_told_its_scope() -> None:
    scopes: list[object] = []
    runner = RecordingRunner()

    def build(scope: object) -> RecordingRunner:
        scopes.append(scope)
        return runner

    whole = delegated_children([scoped("memo", build)], scope="acme")
    for _ in range(2):
        assert (await whole.tools.delegate("memo", "t")).outcome.delivered
    assert scopes == ["acme"]
    assert [call.scope for call in runner.calls] == ["acme", "acme"]
    assert whole.context.current_scope() == "acme"


async def test_built_children_are_closed_and_handed_ones_are_not() -> None:
    built, mine, prompt = RecordingRunner(), RecordingRunner(), PromptAgent()
    whole = delegated_children(
        [scoped("built", lambda scope: built), handed("mine", mine), scoped("prompt", lambda scope: prompt)],
        scope="acme",
    )
    report = await whole.shutdown()
    assert (report.clean, report.attempted) == (True, 4)
    assert built.clean_up == prompt.clean_up == ["flush", "aclose"]
    assert mine.clean_up == []


async def test_a_ceiling_of_zero_builds_nothing() -> None:
    built: list[object] = []
    whole = delegated_children([scoped("memo", built.append)], max_depth=0, scope="acme")
    record = await whole.tools.delegate("memo", "t")
    assert record.outcome is DelegationOutcome.REFUSED_DEPTH
    assert built == []
    assert whole.lifecycle.owned == ()


async def test_an_agent_that_is_not_told_its_depth_runs_inside_a_scope_of_it() -> None:
    agent = PromptAgent()
    whole = delegated_children([handed("a", agent)])
    async with whole.run_scope(depth=1, identity=RunIdentity("r1", "r1")):
        assert (await whole.tools.delegate("a", "what")).message == "42"
        assert whole.context.current_depth() == 1
    assert agent.seen == [("what", 2, "")]


async def test_an_agent_that_ignores_its_depth_still_meets_the_ceiling() -> None:
    outcomes: list[str] = []

    class Spawner:
        async def run(self, prompt: str) -> str:
            record = await whole.tools.delegate("spawner", prompt)
            outcomes.append(record.outcome)
            return "spawned"

    whole = delegated_children([handed("spawner", Spawner())], max_depth=3)
    await whole.tools.delegate("spawner", "go")
    assert outcomes == ["refused_depth", "delivered", "delivered"]


async def test_an_agent_that_is_told_its_depth_gets_no_scope_around_it() -> None:
    context = DelegationContext(snapshots=RecordingSnapshots())
    runner = RecordingRunner("42")
    assert await adapt_child("a", runner, context).run("what", scope="acme", agent_depth=2, run_id="r2") == "42"
    (call,) = runner.calls
    assert (call.scope, call.agent_depth, call.run_id) == ("acme", 2, "r2")


async def test_an_adapted_run_takes_a_snapshot_slot_for_its_length() -> None:
    snapshots = RecordingSnapshots()
    await adapt_child("a", PromptAgent(), DelegationContext(snapshots=snapshots)).run("what", agent_depth=1)
    assert (len(snapshots.opened), snapshots.held) == (1, ())


@pytest.mark.parametrize(("run_id", "seen"), [(None, "outer"), ("r2", "r2")])
async def test_an_adapted_run_has_the_id_that_it_was_given_or_the_current_one(run_id: str | None, seen: str) -> None:
    agent = PromptAgent()
    with run_identity(RunIdentity("outer", "outer")):
        await adapt_child("a", agent, DelegationContext()).run("what", run_id=run_id, agent_depth=1)
    assert agent.seen == [("what", 1, seen)]


async def test_an_adapter_forwards_the_clean_up() -> None:
    agent = PromptAgent()
    adapted = adapt_child("a", agent, DelegationContext())
    await adapted.flush_background_tasks()
    await adapted.aclose()
    assert agent.clean_up == ["flush", "aclose"]


async def test_an_adapter_over_an_agent_without_clean_up_does_nothing() -> None:
    adapted = adapt_child("a", Mirage(), DelegationContext())
    await adapted.flush_background_tasks()
    await adapted.aclose()


def test_every_form_that_composes_is_a_declaration() -> None:
    assert isinstance(handed("a"), ChildDeclaration)
