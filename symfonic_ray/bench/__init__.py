"""What a hand-off, a tenant and a million tasks cost, beside the same thing written by hand with Ray alone.

Both sides are measured in turns in one run, with all that a real run has: seal, validation, records; no journal.
Imports nothing: the agents that are measured live in processes that need ``work`` alone.
"""
