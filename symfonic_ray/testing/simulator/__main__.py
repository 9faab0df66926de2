"""Run many seeds of the sample fleet and say which of them break a promise. A thin shell: decides nothing."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter

from symfonic_ray.testing.simulator.simulate import judged, simulate


def main() -> int:
    """Exit code: 0 when every seed is sound, 1 when one is not."""
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many seeds, from 0 on")
    parser.add_argument("--seed", type=int, help="this one only, with its events")
    parser.add_argument("--steps", type=int, default=200, help="steps of a seed")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _one(asked.seed, asked.steps)
    began = time.process_time()
    whole = hashlib.sha256()
    kinds: Counter[str] = Counter()
    bad = 0
    for seed in range(asked.seeds):
        history = simulate(seed=seed, steps=asked.steps)
        whole.update(history.digest().encode())
        kinds.update(event.kind for event in history.events)
        broken = judged(history)
        if broken:
            bad += 1
            print(
                f"seed {seed}: {broken[0]}\n  again: scripts/simulate --seed {seed} --steps {asked.steps}", flush=True
            )
    seconds = time.process_time() - began
    size = f"{asked.seeds} seeds x {asked.steps} steps"
    print(f"{size}: {bad} unsound, {seconds:.1f} s of one core, {whole.hexdigest()[:16]}")
    print(
        ", ".join(f"{kinds[kind]} {kind}" for kind in ("invoke", "ok", "fail", "unknown", "cancelled", "fault", "jump"))
    )
    return 1 if bad else 0


def _one(seed: int, steps: int) -> int:
    history = simulate(seed=seed, steps=steps)
    for event in history.events:
        seconds = f" ({event.seconds:g} s)" if event.seconds else ""
        words = f": {event.words!r}" if event.words else ""
        print(f"{event.at:12.6f} {event.kind:9} {event.operation} {event.scope_key} {event.child}{seconds}{words}")
    broken = judged(history)
    for violation in broken:
        print(violation, file=sys.stderr)
    print(f"seed {seed}: {len(broken)} promises broken, {history.digest()}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
