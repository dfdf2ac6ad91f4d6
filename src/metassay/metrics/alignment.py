"""Align the words or characters of an output with those of a reference.

Two alignments are offered. `align_words`, `align_characters` and `align_tokens` align as sclite (NIST SCTK)
does: the cheapest alignment, where a substitution costs 4, a deletion and an insertion 3 each. That is almost
always one with the fewest edits, but not where five substitutions stand against three deletions and three
insertions. Use these to show errors and to count their kinds. `align_with_fewest_edits` aligns as jiwer does.
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
_HIT, _SUBSTITUTION, _DELETION, _INSERTION = range(4)
_KIND_OF_OPERATION: dict[str, Kind] = {
    "equal": "hit",
    "replace": "substitution",
    "delete": "deletion",
    "insert": "insertion",
}
# The costs of sclite: a substitution is cheaper than a deletion with an insertion.
_SUBSTITUTION_COST = 4
_DELETION_COST = 3
_INSERTION_COST = 3


@dataclass(frozen=True)
class Step:
    """One step of an alignment: a token of the reference and the output token that stands for it. One of them
    is None in a deletion or an insertion.
    """

    kind: Kind
    reference: str | None
    output: str | None


@dataclass(frozen=True)
class Alignment:
    """The steps that turn a reference into an output, in order: hits, substitutions, deletions and
    insertions.
    """

    steps: tuple[Step, ...]

    @property
    def step_counts_by_kind(self) -> dict[Kind, int]:
        """Number of steps of each kind: hit, substitution, deletion or insertion."""
        kinds = [step.kind for step in self.steps]
        return {kind: kinds.count(kind) for kind in KINDS}

    @property
    def edit_count(self) -> int:
        """Number of edits: substitutions, deletions and insertions."""
        return sum(step.kind != "hit" for step in self.steps)


def align_words(reference: str, output: str) -> Alignment:
    """Align the words of two texts with the edit costs of sclite, the scoring program of NIST.

    >>> [step.kind for step in align_words("a cat sat", "the cat").steps]
    ['substitution', 'hit', 'deletion']
    """
    return align_tokens(reference.split(), output.split())


def align_characters(reference: str, output: str) -> Alignment:
    """Align the characters of two texts, spaces included, with the edit costs of sclite."""
    return align_tokens(tuple(reference), tuple(output))


def align_tokens(reference: Sequence[str], output: Sequence[str]) -> Alignment:
    """Align two sequences of tokens with the edit costs of sclite, the scoring program of NIST."""
    reference_tokens = iter(reference)
    output_tokens = iter(output)
    steps = []
    for kind in find_alignment_steps(reference, output):
        reference_token = None if kind == "insertion" else next(reference_tokens)
        output_token = None if kind == "deletion" else next(output_tokens)
        steps.append(Step(kind, reference_token, output_token))
    return Alignment(tuple(steps))


def align_with_fewest_edits(reference: Sequence[str], output: Sequence[str]) -> Alignment:
    """Align two sequences of tokens with as few edits as possible, as the library jiwer does.

    >>> align_with_fewest_edits("a cat sat".split(), "the cat".split()).step_counts_by_kind["deletion"]
    1
    """
    steps = []
    for operation in Levenshtein.opcodes(reference, output):
        kind = _KIND_OF_OPERATION[operation.tag]
        reference_tokens = reference[operation.src_start : operation.src_end]
        output_tokens = output[operation.dest_start : operation.dest_end]
        for reference_token, output_token in zip_longest(reference_tokens, output_tokens):
            steps.append(Step(kind, reference_token, output_token))
    return Alignment(tuple(steps))


def find_alignment_steps(reference_tokens: Sequence[str], output_tokens: Sequence[str]) -> list[Kind]:
    """Return the kind of each step (such as "hit") of the alignment that `align_tokens` finds. This is faster
    than building the alignment.

    >>> find_alignment_steps("a cat sat".split(), "the cat".split())
    ['substitution', 'hit', 'deletion']
    """
    token_ids: dict[str, int] = {}
    reference_ids = [token_ids.setdefault(token, len(token_ids)) for token in reference_tokens]
    output_ids = [token_ids.setdefault(token, len(token_ids)) for token in output_tokens]
    steps = _find_cheapest_alignment_steps(
        np.array(reference_ids, dtype=np.int64), np.array(output_ids, dtype=np.int64)
    )
    return [KINDS[step] for step in steps.tolist()]


@kernel
def _find_cheapest_alignment_steps(
    reference_ids: NDArray[np.int64], output_ids: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Find the alignment of two token sequences with the lowest edit costs. Returns the kind of each step as
    a position in `KINDS`.

    Of alignments with equal costs, the one that, from the end, prefers a hit or substitution, then an
    insertion, then a deletion.
    """
    rows = len(reference_ids)
    columns = len(output_ids)
    cost = np.empty((rows + 1, columns + 1), np.int32)
    for i in range(rows + 1):
        cost[i, 0] = _DELETION_COST * i
    for j in range(columns + 1):
        cost[0, j] = _INSERTION_COST * j
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            substitution_cost = 0 if reference_ids[i - 1] == output_ids[j - 1] else _SUBSTITUTION_COST
            cost[i, j] = min(
                cost[i - 1, j - 1] + substitution_cost,
                cost[i, j - 1] + _INSERTION_COST,
                cost[i - 1, j] + _DELETION_COST,
            )
    steps = np.empty(rows + columns, np.uint8)
    count = 0
    i = rows
    j = columns
    while i > 0 or j > 0:
        is_equal = i > 0 and j > 0 and reference_ids[i - 1] == output_ids[j - 1]
        substitution_cost = 0 if is_equal else _SUBSTITUTION_COST
        if i > 0 and j > 0 and cost[i, j] == cost[i - 1, j - 1] + substitution_cost:
            steps[count] = _HIT if is_equal else _SUBSTITUTION
            i -= 1
            j -= 1
        elif j > 0 and cost[i, j] == cost[i, j - 1] + _INSERTION_COST:
            steps[count] = _INSERTION
            j -= 1
        else:
            steps[count] = _DELETION
            i -= 1
        count += 1
    return steps[:count][::-1].copy()
