"""All promises of the specification, in their order. A list; measures nothing itself."""

from __future__ import annotations

from tests.chaos import elsewhere, losses, tenants, waiting
from tests.chaos.stage import Promise

PROMISES = (
    Promise("P1", "every hand-off ends in exactly one record", "0 missing, 0 double, 120 s", losses.one_record),
    Promise("P2", "at most once unless declared idempotent", "0 effects repeated", losses.at_most_once),
    Promise("P3", "every wait is bounded", "a record by deadline + 1 s", waiting.bounded_waits),
    Promise("P4", "recovery after a kill", "record p95 <= 250 ms, answer p95 <= 5 s", losses.recovery),
    Promise("P5", "crash loops stop", "at most 3 processes, others unharmed", losses.crash_loops),
    Promise("P6", "driver killed and resumed", "none lost, none again", elsewhere.killed_driver, slow=True),
    Promise(
        "P7",
        "acknowledged means on disk",
        "at most the tail lost; damage refused",
        elsewhere.by_tests("tests/journal/test_damage.py", "tests/journal/test_full_disk.py"),
    ),
    Promise("P8", "one build per scope and child", "1 build of 200 first calls", waiting.one_build),
    Promise("P9", "tenants never meet", "0 foreign canaries, 0 forged batches run", tenants.never_meet),
    Promise(
        "P10", "fair share", "p95 <= 2 x solo + 50 ms, Jain >= 0.95, 3:1 within 10 %, <= 50 ms", tenants.fair_share
    ),
    Promise("P11", "bounded use", "never over the tree's limit; driver +64 MB", tenants.bounded_use),
    Promise("P12", "cancellation is confirmed", "500 stopped within 5 s, then silence", waiting.confirmed_stop),
    Promise("P13", "shutdown ends", "grace + 2 s, 0 processes left", waiting.shutdown_ends, slow=True),
    Promise("P14", "closed taxonomy", "none maps to other", elsewhere.by_tests("tests/contracts/test_taxonomy.py")),
    Promise(
        "P15",
        "errors are safe",
        "20 shapes, one line each",
        elsewhere.by_tests("tests/cluster/test_exception_shapes.py"),
    ),
    Promise(
        "P16",
        "secrets stay home",
        "0 hits of the canary",
        elsewhere.by_tests("tests/contracts/test_secrets_stay_home.py", "tests/kernel/test_redaction.py"),
    ),
    Promise(
        "P17",
        "lockdown holds",
        "60 spoofed refused, 60 benign pass",
        elsewhere.by_tests("tests/delegation/test_spoof_corpus.py"),
    ),
    Promise("P18", "node loss", "records <= 5 s, answers <= 30 s", elsewhere.node_loss, slow=True),
    Promise("P19", "same seed, same run", "2,000 seeds x 200 steps <= 60 s", elsewhere.simulator),
    Promise("P20", "soak", "< 1 KB a call, nothing left", tenants.soak, slow=True),
)
