"""What the pairs of an assay are, in words."""

from __future__ import annotations

PERTURBED_PAIRS = "perturbed pairs"
HUMAN_PAIRS = "human pairs"
_PHRASES = {"rule": PERTURBED_PAIRS, "model": PERTURBED_PAIRS, "people": HUMAN_PAIRS}


def name_kind_of_pairs(pairs_from: str) -> str:
    """Name the pairs of an assay by their origin: `perturbed pairs`, `human pairs`, or just `pairs`."""
    return _PHRASES.get(pairs_from, "pairs")
