"""Which words were recognised, and which were substituted, deleted or inserted, as sclite aligns them.

sclite (NIST SCTK) looks for the cheapest alignment with a substitution at 4, a deletion and an insertion at 3
each. That is almost always one with the fewest edits, which is what error rates count; where five
substitutions stand against three deletions and three insertions it is not. Use this for showing and counting
kinds of errors, and `error_rates` for scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metassay.metrics.kernels.alignment import align as align_codes

Kind = Literal["hit", "substitution", "deletion", "insertion"]
KINDS: tuple[Kind, ...] = ("hit", "substitution", "deletion", "insertion")


@dataclass(frozen=True)
class Step:
    """A token of the reference beside one of the output; None where the other side has none."""

    kind: Kind
    reference: str | None
    output: str | None


@dataclass(frozen=True)
class Alignment:
    """The steps from the start of both sides to their end."""

    steps: tuple[Step, ...]

    @property
    def counts(self) -> dict[Kind, int]:
        """Number of steps of each kind; hits, substitutions and deletions add up to the reference."""
        kinds = [step.kind for step in self.steps]
        return {kind: kinds.count(kind) for kind in KINDS}

    @property
    def error_rate(self) -> float | None:
        """Substitutions, deletions and insertions per token of the reference; None where that is empty."""
        counts = self.counts
        size = counts["hit"] + counts["substitution"] + counts["deletion"]
        edits = len(self.steps) - counts["hit"]
        return edits / size if size else None


def align_words(reference: str, output: str) -> Alignment:
    """Alignment of the words of two texts.

    >>> [step.kind for step in align_words("a cat sat", "the cat").steps]
    ['substitution', 'hit', 'deletion']
    """
    return align_tokens(reference.split(), output.split())


def align_characters(reference: str, output: str) -> Alignment:
    """Alignment of the characters of two texts, spaces included, as the character error rate counts them."""
    return align_tokens(tuple(reference), tuple(output))


def align_tokens(reference: Sequence[str], output: Sequence[str]) -> Alignment:
    """Alignment of two sequences of tokens."""
    codes: dict[str, int] = {}
    coded = [
        np.array([codes.setdefault(token, len(codes)) for token in tokens], dtype=np.int64)
        for tokens in (reference, output)
    ]
    left, right = iter(reference), iter(output)
    steps = []
    for code in align_codes(*coded).tolist():
        kind = KINDS[code]
        steps.append(
            Step(
                kind,
                None if kind == "insertion" else next(left),
                None if kind == "deletion" else next(right),
            )
        )
    return Alignment(tuple(steps))
