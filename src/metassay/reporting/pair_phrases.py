"""What the pairs of an assay are, in words."""

from __future__ import annotations

PERTURBED_PAIRS = "perturbed pairs"
HUMAN_PAIRS = "human pairs"
_PHRASES = {"rule": PERTURBED_PAIRS, "model": PERTURBED_PAIRS, "people": HUMAN_PAIRS}


def describe_pairs(pairs_from: str) -> str:
    """Name the pairs of an assay by where they come from; pairs of the user's own are just pairs."""
    return _PHRASES.get(pairs_from, "pairs")
