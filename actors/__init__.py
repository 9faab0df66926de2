"""Children that this project ships: ``reader``, ``coordinator``, ``echo``; each has ``build(scope)``; no ray."""
