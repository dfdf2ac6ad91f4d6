"""Which texts of a batch meet which: every distinct text once, every distinct pair of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch, Scores

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """The distinct texts of a batch, and the distinct (output, references) pairs to score.

    Pairs are sorted by their references, so that a kernel prepares each set of references once.
    """

    texts: Sequence[str]
    """Distinct texts, outputs and references alike; the arrays below hold positions in it."""
    outputs: Index
    """For each pair, its output."""
    sets: Index
    """For each pair, its set of references."""
    set_offsets: Index
    set_members: Index
    """References of set k: `set_members[set_offsets[k] : set_offsets[k + 1]]`, in the order given."""
    rows: Index
    """For each row of the batch, its pair."""

    def couples(self) -> Couples:
        """Each output with each of its references, for metrics that look at one reference at a time."""
        sizes = np.diff(self.set_offsets)[self.sets]
        pair_offsets = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(pair_offsets[-1]) - np.repeat(pair_offsets[:-1], sizes)
        references = self.set_members[np.repeat(self.set_offsets[self.sets], sizes) + within]
        outputs = np.repeat(self.outputs, sizes)
        if len(references) == len(self.outputs):
            return Couples(outputs, references, pair_offsets, None)
        order = np.argsort(references, kind="stable")
        return Couples(outputs[order], references[order], pair_offsets, order)


@dataclass(frozen=True)
class Couples:
    """Outputs and single references, grouped by reference."""

    outputs: Index
    references: Index
    pair_offsets: Index
    """Couples of pair p, once restored: `pair_offsets[p] : pair_offsets[p + 1]`."""
    order: Index | None
    """How the couples were sorted; None where every output has one reference and nothing was."""

    def restored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of the couples, pair by pair and in the order of the references given."""
        if self.order is None:
            return values
        original = np.empty_like(values)
        original[self.order] = values
        return original

    def best(self, statistics: Scores, scores: Scores) -> Scores:
        """For each pair, the statistics of its first couple with the highest score."""
        if self.order is None:
            return statistics
        statistics, scores = self.restored(statistics), self.restored(scores)
        highest = np.maximum.reduceat(scores, self.pair_offsets[:-1])
        is_best = scores == np.repeat(highest, np.diff(self.pair_offsets))
        candidates = np.where(is_best, np.arange(len(scores)), len(scores))
        first: Index = np.minimum.reduceat(candidates, self.pair_offsets[:-1])
        return statistics[first]


def pairing(batch: Batch) -> Pairing:
    """The pairing of a batch, made once."""
    return batch.derived("pairing", lambda: _pair(batch.output, batch.references))


def _pair(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Pairing:
    texts: dict[str, int] = {}
    number = texts.setdefault
    output_of_row = np.fromiter((number(text, len(texts)) for text in outputs), np.int64, len(outputs))
    sets: dict[tuple[str, ...], int] = {}
    number_set = sets.setdefault
    set_of_row = np.fromiter(
        (number_set(tuple(own), len(sets)) for own in references), np.int64, len(outputs)
    )
    members = [number(text, len(texts)) for own in sets for text in own]
    offsets = np.concatenate(([0], np.cumsum([len(own) for own in sets], dtype=np.int64)))
    keys, rows = np.unique(set_of_row * max(len(texts), 1) + output_of_row, return_inverse=True)
    pair_sets, pair_outputs = np.divmod(keys, max(len(texts), 1))
    return Pairing(
        list(texts), pair_outputs, pair_sets, offsets, np.array(members, dtype=np.int64), rows.reshape(-1)
    )
