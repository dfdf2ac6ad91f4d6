"""Simulated raters, who score outputs whose errors are known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .channels import MAJOR, MINOR

WORST = -25.0  # as in MQM: a segment loses 25 points at most


@dataclass(frozen=True)
class Rater:
    """How often this rater notices an error, misjudges its severity, and reports one that is not there."""

    name: str
    notices: float
    misjudges: float
    imagines: float


RATERS = (
    Rater("lenient", notices=0.80, misjudges=0.15, imagines=0.05),
    Rater("steady", notices=0.90, misjudges=0.10, imagines=0.10),
    Rater("strict", notices=0.97, misjudges=0.10, imagines=0.30),
)


def rate(errors: Sequence[float], rater: Rater, rng: random.Random) -> float:
    """Return minus the weights of the errors that the rater reports, at least `WORST`."""
    score = -MINOR if rng.random() < rater.imagines else 0.0
    for weight in errors:
        if rng.random() < rater.notices:
            mistaken = rng.random() < rater.misjudges
            score -= (MAJOR + MINOR - weight) if mistaken else weight
    return max(WORST, score)
