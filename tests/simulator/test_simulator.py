"""Fleets under seeded faults: sound as they are, the same for one seed, and unsound once a bug is planted."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from symfonic_ray.cluster.courier import Courier, Parcel, new_call_id
from symfonic_ray.cluster.envelope import ReplyRow
from symfonic_ray.cluster.flight import Flight
from symfonic_ray.cluster.runner import HandOff, RemoteChild
from symfonic_ray.delegation.declarations import ChildSpec, PrebuiltChild, ScopedChild
from symfonic_ray.delegation.errors import HandOffFault
from symfonic_ray.delegation.values import HandOffReply
from symfonic_ray.testing.simulator import Faults, SimulationError, assert_sound, judged, simulate

ROOT = Path(__file__).resolve().parents[2]
SEEDS_TO_FIND = 200


ONCE_BROKEN = (1272,)  # the word that starts a controller was lost, and was waited for half a minute


@pytest.mark.parametrize("seed", [*range(30), *ONCE_BROKEN])
def test_a_fleet_keeps_its_promises_under_any_faults(seed: int) -> None:
    assert_sound(simulate(seed=seed), seed=seed)


def test_the_seeds_reach_what_they_are_for() -> None:
    """A simulation in which nothing happens would be sound too."""
    histories = [simulate(seed=seed) for seed in range(100, 110)]
    reasons = {event.words for history in histories for event in history.events if event.kind in ("fail", "unknown")}
    assert {"actor_died", "node_died", "timeout", "overload", "build_failed", "quarantined", "cancelled"} <= reasons
    assert sum(history.count("ok") for history in histories) > 300
    assert all(history.count("fault") for history in histories)


def test_a_fleet_without_faults_delivers() -> None:
    class Echo:
        async def run(self, query: str) -> str:
            return query

    child = ScopedChild(name="echo", description="echoes", build=lambda scope: Echo())
    history = simulate([child], seed=1, faults=Faults.none())
    assert_sound(history, seed=1)
    assert history.count("ok") > 100
    assert not history.count("fault", "jump")
    assert all(
        event.words in ("overload", "cancelled", "shutting_down")
        for event in history.events
        if event.kind in ("fail", "unknown")
    )


def test_a_child_of_the_caller_s_process_and_one_that_blocks_are_simulated_too() -> None:
    class Blocking:
        def run(self, query: str) -> str:
            return query.upper()

    children = [
        PrebuiltChild(name="here", description="runs here", agent=Blocking()),
        ScopedChild(name="there", description="runs there", build=lambda scope: Blocking()),
    ]
    history = simulate(children, seed=2, faults=Faults.none())
    assert not judged(history, {})
    assert {event.child for event in history.events if event.kind == "ended"} == {"here", "there"}


def test_a_child_that_a_provider_makes_is_refused_by_name() -> None:
    spec = ChildSpec(name="made", description="made by a provider")
    with pytest.raises(TypeError, match="made: a ChildSpec is made by its provider"):
        simulate([spec], seed=1)


def test_one_seed_gives_one_history_in_any_process() -> None:
    code = (
        "import sys\nfrom symfonic_ray.testing.simulator import simulate\n"
        "print(*(simulate(seed=seed).digest() for seed in range(4)), 'ray' in sys.modules)"
    )
    told = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        told.add(done.stdout.strip())
    here = " ".join(simulate(seed=seed).digest() for seed in range(4))
    assert told == {f"{here} False"}


def test_two_seeds_give_two_histories() -> None:
    assert simulate(seed=1).digest() != simulate(seed=2).digest()


def test_real_time_is_back_afterwards() -> None:
    before = time.monotonic, time.perf_counter
    simulate(seed=1, steps=5)
    assert (time.monotonic, time.perf_counter) == before


def found_within(seeds: int) -> set[str]:
    """The promises broken at the first seed that breaks any: one fault can break several in one history."""
    for seed in range(seeds):
        if broken := judged(simulate(seed=seed)):
            return {violation.promise for violation in broken}
    return set()


def test_a_settle_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    landed = Flight._landed

    def forgets(self: Flight, outcome: ReplyRow | Exception) -> None:
        if not isinstance(outcome, Exception):
            landed(self, outcome)

    monkeypatch.setattr(Flight, "_landed", forgets)
    assert "exactly one record" in found_within(SEEDS_TO_FIND)


def test_a_hand_off_that_is_sent_again_after_a_loss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    carried = RemoteChild.carried

    async def insists(self: RemoteChild, hand_off: HandOff) -> HandOffReply:
        try:
            return await carried(self, hand_off)
        except HandOffFault as fault:
            if fault.reason not in ("actor_died", "out_of_memory"):
                raise
            hand_off.row = dataclasses.replace(hand_off.row, call_id=new_call_id())
            return await carried(self, hand_off)

    monkeypatch.setattr(RemoteChild, "carried", insists)
    # A child that was sent again either starts twice, or is refused the second time although it has run.
    found = [judged(simulate(seed=seed)) for seed in range(SEEDS_TO_FIND // 10)]
    promises = [violation.promise for broken in found for violation in broken]
    assert set(promises) <= {"at most one effect", "a refusal ran nothing"}
    assert promises.count("at most one effect") > promises.count("a refusal ran nothing")


def test_a_late_reply_that_lands_at_another_hand_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Courier._settle

    def unfenced(self: Courier, replies: list[ReplyRow], waiting: dict[str, Parcel]) -> None:
        for reply in replies:
            if reply.call_id not in waiting and waiting:
                reply.call_id = next(iter(waiting))
        settle(self, replies, waiting)

    monkeypatch.setattr(Courier, "_settle", unfenced)
    assert "its own answer" in found_within(SEEDS_TO_FIND)


def test_a_failing_seed_is_told_with_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Flight, "_landed", lambda *_: None)
    seed = next(seed for seed in range(SEEDS_TO_FIND) if judged(simulate(seed=seed)))
    with pytest.raises(SimulationError) as failed:
        assert_sound(simulate(seed=seed), seed=seed)
    words = str(failed.value)
    assert "exactly one record" in words
    assert f"scripts/simulate --seed {seed} --steps 200" in words


def test_the_page_on_testing_a_fleet_works_as_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "test-your-fleet.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    script = tmp_path / "test_my_fleet.py"
    script.write_text(code)
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout
    assert "100 passed" in done.stdout
