"""Which words were recognised, and which were substituted, deleted or inserted, as sclite aligns them.

sclite (NIST SCTK) looks for the cheapest alignment with a substitution at 4, a deletion and an insertion at 3
each. That is almost always one with the fewest edits, which is what error rates count; where five
substitutions stand against three deletions and three insertions it is not. Use this for showing and counting
kinds of errors, and `error_rates` for scores. `align_with_fewest_edits` is what jiwer shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from metassay.stats.compilation import kernel

Kind = Literal["hit", "substitution", "deletion", "insertion"]
KINDS: tuple[Kind, ...] = ("hit", "substitution", "deletion", "insertion")
_KIND: dict[str, Kind] = dict(zip(("equal", "replace", "delete", "insert"), KINDS))
_HIT, _SUBSTITUTION, _DELETION, _INSERTION = range(4)
_SUBSTITUTED, _DROPPED, _INSERTED = 4, 3, 3  # costs of sclite; a hit is free


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
    def edits(self) -> int:
        """Steps that are no hits."""
        return sum(step.kind != "hit" for step in self.steps)

    @property
    def error_rate(self) -> float | None:
        """Substitutions, deletions and insertions per token of the reference; None where that is empty."""
        counts = self.counts
        size = counts["hit"] + counts["substitution"] + counts["deletion"]
        return self.edits / size if size else None


def align_words(reference: str, output: str) -> Alignment:
    """Alignment of the words of two texts.

    >>> [step.kind for step in align_words("a cat sat", "the cat").steps]
    ['substitution', 'hit', 'deletion']
    """
    return align_tokens(reference.split(), output.split())


def align_with_fewest_edits(reference: Sequence[str], output: Sequence[str]) -> Alignment:
    """Alignment of two sequences of tokens with the fewest edits; of several such, the one jiwer shows.

    >>> align_with_fewest_edits("a cat sat".split(), "the cat".split()).counts["deletion"]
    1
    """
    steps = []
    for step in Levenshtein.opcodes(reference, output):
        sides = reference[step.src_start : step.src_end], output[step.dest_start : step.dest_end]
        steps += [Step(_KIND[step.tag], own, other) for own, other in zip_longest(*sides)]
    return Alignment(tuple(steps))


def align_characters(reference: str, output: str) -> Alignment:
    """Alignment of the characters of two texts, spaces included, as the character error rate counts them."""
    return align_tokens(tuple(reference), tuple(output))


def align_tokens(reference: Sequence[str], output: Sequence[str]) -> Alignment:
    """Alignment of two sequences of tokens."""
    left, right = iter(reference), iter(output)
    return Alignment(
        tuple(
            Step(
                kind,
                None if kind == "insertion" else next(left),
                None if kind == "deletion" else next(right),
            )
            for kind in find_alignment_steps(reference, output)
        )
    )


def find_alignment_steps(reference: Sequence[str], output: Sequence[str]) -> list[Kind]:
    """The kinds of the steps of `align_tokens` alone: whoever shows thousands needs no object for each.

    >>> find_alignment_steps("a cat sat".split(), "the cat".split())
    ['substitution', 'hit', 'deletion']
    """
    codes: dict[str, int] = {}
    coded = [
        np.array([codes.setdefault(token, len(codes)) for token in tokens], dtype=np.int64)
        for tokens in (reference, output)
    ]
    return [KINDS[code] for code in _cheapest_steps(*coded).tolist()]


@kernel
def _cheapest_steps(reference: NDArray[np.int64], output: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The steps as places in `KINDS`; among equal costs, from the end: diagonal, insertion, deletion."""
    rows, columns = len(reference), len(output)
    cost = np.empty((rows + 1, columns + 1), np.int32)
    for i in range(rows + 1):
        cost[i, 0] = _DROPPED * i
    for j in range(columns + 1):
        cost[0, j] = _INSERTED * j
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            diagonal = cost[i - 1, j - 1] + (0 if reference[i - 1] == output[j - 1] else _SUBSTITUTED)
            cost[i, j] = min(diagonal, cost[i, j - 1] + _INSERTED, cost[i - 1, j] + _DROPPED)
    steps = np.empty(rows + columns, np.uint8)
    i, j, count = rows, columns, 0
    while i > 0 or j > 0:
        same = i > 0 and j > 0 and reference[i - 1] == output[j - 1]
        if i > 0 and j > 0 and cost[i, j] == cost[i - 1, j - 1] + (0 if same else _SUBSTITUTED):
            steps[count] = _HIT if same else _SUBSTITUTION
            i -= 1
            j -= 1
        elif j > 0 and cost[i, j] == cost[i, j - 1] + _INSERTED:
            steps[count] = _INSERTION
            j -= 1
        else:
            steps[count] = _DELETION
            i -= 1
        count += 1
    return steps[:count][::-1].copy()
