"""Six short documents about an imaginary observatory, for a first question. Holds texts, answers nothing."""

from __future__ import annotations

from pathlib import Path

SAMPLE_FOLDER = Path(__file__).parent / "observatory"
"""The documents; everything in them is made up."""

SAMPLE_QUESTION = "When is the observatory open to visitors?"
"""A question that the documents answer."""
