"""The promises of this project under faults and load, each measured: a short form in the suite, the whole by script."""
