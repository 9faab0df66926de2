"""Delegation as one thing that a parent agent is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from symfonic_ray.delegation import (
    ChildBuildPlan,
    ChildSpec,
    DelegationCapability,
    DelegationError,
    DelegationOutcome,
    DepthPolicy,
    DuplicateChildError,
    PrebuiltChild,
    ScopedChild,
)
from symfonic_ray.kernel import CapabilityContribution
from symfonic_ray.testing import PlainInheritance, RecordingBuilder, RecordingRunner, RecordingSnapshots


def compiled(declarations: list[Any], **more: Any) -> DelegationCapability:
    ports: dict[str, Any] = {"builder": RecordingBuilder(), "inheritance": PlainInheritance(), "parent_config": None}
    return DelegationCapability.compile(declarations, **ports | more)


def spec(name: str) -> ChildSpec:
    return ChildSpec(name=name, description="d")


def handed(name: str, agent: object | None = None) -> PrebuiltChild:
    return PrebuiltChild(name=name, description="d", agent=agent or RecordingRunner())


def test_the_parts_are_wired() -> None:
    builder = RecordingBuilder()
    whole = compiled([spec("a"), handed("b")], builder=builder, max_depth=2)
    assert whole.roster.names == ("a", "b")
    assert whole.depth == DepthPolicy(2)
    assert list(whole.lifecycle.owned) == builder.built
    assert whole.active
    assert [tool.name for tool in whole.tool_specs()] == ["run_agent", "list_agents"]


def test_the_ceiling_is_three_unless_set() -> None:
    assert compiled([handed("a")]).depth == DepthPolicy(3)


def test_a_ceiling_that_is_no_number_is_refused_before_anything_is_built() -> None:
    builder = RecordingBuilder()
    with pytest.raises(ValueError, match="max_depth"):
        compiled([spec("a")], builder=builder, max_depth=-1)
    assert builder.plans == []


def test_without_children_nothing_is_offered() -> None:
    whole = compiled([])
    assert (whole.active, whole.tool_specs()) == (False, ())
    assert whole.contribute(SimpleNamespace()) == CapabilityContribution("delegation", ())


def test_tools_are_contributed_and_no_grants() -> None:
    offered = compiled([handed("a")]).contribute(SimpleNamespace(grants=("everything",)))
    assert [tool.name for tool in offered.tools] == ["run_agent", "list_agents"]
    assert not hasattr(offered, "grants")


async def test_ports_and_policies_are_passed_on() -> None:
    snapshots, runner = RecordingSnapshots(), RecordingRunner()
    whole = compiled([handed("a", runner)], snapshots=snapshots, resolve_scope=lambda: "acme", record_delegations=False)
    async with whole.run_scope(depth=1) as run:
        assert snapshots.held == (1,)
        assert (await whole.tools.delegate("a", "t")).outcome.delivered
    assert runner.calls[0].scope == "acme"
    assert run.delegated_to == ()
    assert snapshots.closed == [1]


async def test_shared_values_and_the_scope_reach_what_is_built() -> None:
    scopes: list[object] = []
    builder, memory = RecordingBuilder(), object()

    def build(scope: object) -> RecordingRunner:
        scopes.append(scope)
        return RecordingRunner()

    children = [spec("a"), ScopedChild(name="memo", description="d", build=build)]
    compiled(children, builder=builder, shared={"memory": memory}, scope="acme", parent_provider="p")
    assert builder.plans[0].shared == {"memory": memory}
    assert builder.plans[0].provider == "p"
    assert scopes == ["acme"]


async def test_with_a_ceiling_of_zero_nothing_is_built_and_every_runner_raises() -> None:
    builder = RecordingBuilder()
    whole = compiled([spec("a"), handed("b")], builder=builder, max_depth=0)
    assert (builder.plans, whole.lifecycle.owned, whole.roster.names) == ([], (), ("a", "b"))
    for name in whole.roster.names:
        with pytest.raises(DelegationError, match="disabled"):
            await whole.roster.run(name, "t")
        assert (await whole.tools.delegate(name, "t")).outcome is DelegationOutcome.REFUSED_DEPTH
    assert (await whole.shutdown()).attempted == 0


def test_a_ceiling_of_zero_still_refuses_a_bad_list() -> None:
    with pytest.raises(DuplicateChildError):
        compiled([spec("a"), spec("a")], max_depth=0)


async def test_shutdown_ends_what_was_built_and_names_what_failed() -> None:
    class Sour(RecordingRunner):
        async def aclose(self) -> None:
            raise OSError("stuck")

    def make(plan: ChildBuildPlan) -> RecordingRunner:
        return Sour() if plan.name == "b" else RecordingRunner()

    builder, mine = RecordingBuilder(make), RecordingRunner()
    whole = compiled([spec("a"), handed("mine", mine), spec("b")], builder=builder)
    report = await whole.shutdown()
    assert (report.attempted, report.failures) == (4, ("b: aclose failed: OSError: stuck",))
    assert builder.built[0].clean_up == ["flush", "aclose"]
    assert mine.clean_up == []


async def test_a_capability_shuts_down_when_its_block_is_left() -> None:
    builder = RecordingBuilder()
    async with compiled([spec("a")], builder=builder):
        assert builder.built[0].clean_up == []
    assert builder.built[0].clean_up == ["flush", "aclose"]


async def test_an_agent_that_is_not_told_its_depth_is_held_to_the_ceiling_here_too() -> None:
    depths: list[int] = []

    class Spawner:
        async def run(self, prompt: str) -> str:
            depths.append(whole.context.current_depth())
            await whole.tools.delegate("spawner", prompt)
            return "spawned"

    whole = compiled([handed("spawner", Spawner())], max_depth=3)
    await whole.tools.delegate("spawner", "go")
    assert depths == [1, 2, 3]


def test_an_agent_that_is_told_its_depth_is_the_runner_itself() -> None:
    runner = RecordingRunner()
    entry = compiled([handed("a", runner)]).roster.find("a")
    assert entry is not None
    assert entry.runner is runner
