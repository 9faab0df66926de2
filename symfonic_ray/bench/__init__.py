"""What a hand-off, a tenant and a million tasks cost, beside the same thing written by hand with Ray alone.

Both sides are measured in turns in one run, with all that a real run has: seal, validation, records; no journal.
"""

from symfonic_ray.bench.bench import LEAST_ROUNDS, run_bench
from symfonic_ray.bench.catalogue import WorkItem, catalogue, chosen
from symfonic_ray.bench.chart import chart
from symfonic_ray.bench.table import table

__all__ = ["LEAST_ROUNDS", "WorkItem", "catalogue", "chart", "chosen", "run_bench", "table"]
