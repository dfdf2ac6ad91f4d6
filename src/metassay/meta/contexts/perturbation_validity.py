"""Do perturbations do what their labels say? How often they apply, how much they change, who disagrees.

And what follows for accuracies: a pair whose copy is not worse has a wrong label, and a metric that rightly
prefers the copy is counted wrong; a pair whose sides are close is hard to tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.data.dataset import Dataset
from metassay.meta.contexts.accuracy import TIE_CREDIT, ratio, sort_pairs
from metassay.meta.contexts.column_analysis import study_intervals
from metassay.meta.contexts.human_pairs import differences_by_method
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, Contexts, Judgements, OutcomeArray
from metassay.perturbations.pairs import Pairs
from metassay.stats import random
from metassay.stats.arrays import FloatArray, IntArray, LongArray, to_json_values
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.compilation import kernel
from metassay.stats.intervals import widened_percentile_interval


@dataclass(frozen=True)
class Validity:
    """What is known about one perturbation method."""

    perturbation: str
    outputs: int
    """Outputs it was tried on."""
    applied: float
    """Share of outputs that it made a different text of."""
    unchanged: float
    """Share of outputs that came back as they were, and were discarded."""
    pairs: int
    edit_distance: float | None
    """Mean number of characters edited; None for rankings or without pairs."""
    edit_share: float | None
    """Mean of edited characters over the length of the longer text."""
    judged: int
    """Pairs whose worse text is another system's output for the item and was scored by people."""
    disagreements: int
    """Judged pairs in which people scored the text that is called worse higher."""
    ties: int
    """Judged pairs in which people scored both alike."""


def perturbation_validity(
    pairs: Pairs, dataset: Dataset, edits: Edits | None = None, told: Told | None = None
) -> list[Validity]:
    """One row per method, in the order of their names; `edits` are those of the pairs, where they are known.

    Is y′ really worse? A synonym often is not, and then an "error" of the metric is the label's. Where some
    system returned exactly y′ for the item and people scored it, their scores decide. Where the frame of the
    pairs is not at hand, `told` has what it would tell.
    """
    frame = pairs.frame
    edits = edits or edits_of(frame["output"], frame["worse"])
    made_by, differences = told or (
        lambda spec: (frame["perturbation"] == spec).to_numpy(),
        differences_by_method(frame, dataset),
    )
    return [
        _row(spec, count, _mean_edits(edits, made_by(spec)), differences.get(spec, []))
        for spec, count in sorted(pairs.counts.items())
    ]


def to_frame(rows: Sequence[Validity]) -> pl.DataFrame:
    """The rows as a table."""
    return pl.DataFrame([asdict(row) for row in rows])


def _row(
    spec: str, count: Any, edits: tuple[float | None, float | None], differences: list[float]
) -> Validity:
    tried = count.applied + count.not_applicable + count.unchanged
    distance, share = edits
    return Validity(
        spec,
        outputs=tried,
        applied=count.applied / tried if tried else 0.0,
        unchanged=count.unchanged / tried if tried else 0.0,
        pairs=count.pairs,
        edit_distance=distance,
        edit_share=share,
        judged=len(differences),
        disagreements=sum(difference < 0 for difference in differences),
        ties=sum(difference == 0 for difference in differences),
    )


Told = tuple[Callable[[str], NDArray[np.bool_]], Mapping[str, list[float]]]
"""Which pairs a method made, and `differences_by_method`."""
Edits = tuple[LongArray, FloatArray]
"""Of every pair the characters edited, and their share of the longer text; both empty for rankings."""


def edits_of(output: pl.Series, worse: pl.Series, workers: int = 1) -> Edits:
    """Levenshtein distance of the two sides of every pair, in characters, and its share."""
    if output.is_empty() or output.dtype != pl.String:
        return np.empty(0, dtype=np.int64), np.empty(0)
    one, other = output.to_list(), worse.to_list()
    distances = process.cpdist(one, other, scorer=Levenshtein.distance, dtype=np.int64, workers=workers)
    lengths = np.maximum(*(texts.str.len_chars().to_numpy() for texts in (output, worse)))
    return distances, distances / np.maximum(lengths, 1)


def _mean_edits(edits: Edits, own: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    distances, shares = edits
    if not len(distances) or not own.any():
        return None, None
    return float(distances[own].mean()), float(shares[own].mean())


BINS = 5
"""Parts of equal size, from the pairs with the closest sides to those farthest apart."""
_FEWEST = 20  # pairs in a part
_AT_ONCE = 2**20


@dataclass(frozen=True)
class Parts:
    """Pairs parted by their edited share: the part of each, the median, and where each part lies."""

    codes: IntArray
    median: float
    bins: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, shares: FloatArray) -> Parts:
        """Up to `BINS` parts of equal size; equal shares never straddle two."""
        ordered = np.sort(shares)
        starts = _starts(ordered)
        codes = np.empty(len(shares), dtype=np.int32)
        for start in range(0, len(shares), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            codes[some] = np.searchsorted(ordered[starts[:-1]], shares[some], side="right") - 1
        own = [ordered[start:stop] for start, stop in pairwise(starts)]
        bins = [
            {"low": part[0], "median": _middle(part), "high": part[-1], "pairs": len(part)} for part in own
        ]
        return cls(codes, _middle(ordered) if len(ordered) else float("nan"), bins)


def difficulty(
    judgements: Judgements,
    parts: Parts,
    apart: tuple[str, FloatArray] | None,
    *,
    ties: str,
    resamples: int,
    seed: int,
) -> dict[str, Any] | None:
    """Accuracy by how far apart the two sides of a pair are: the closer, the harder to tell.

    `apart` is the name of a human score and the shares of pairs that people tell apart by it. None where
    there is one part. Intervals as of any accuracy (`study_intervals`).
    """
    count = len(parts.bins)
    if count < 2:
        return None
    contexts = Contexts("difficulty", tuple(map(str, range(count))), parts.codes)
    pairs, (contexts,) = sort_pairs(judgements, [contexts])
    with threadpool_limits(1):  # the same bytes on any machine's cores
        bootstrap = ClusterBootstrap(random.make_named_generator(seed, "bootstrap"), resamples)
        estimates, low, high = study_intervals(pairs, contexts, ties, bootstrap)
    values = {"accuracy": estimates.accuracy, "low": low, "high": high, "ties": estimates.tally.tie_share()}
    counted = {"items": estimates.tally.items(), "pairs": estimates.pairs}
    found: dict[str, Any] = to_json_values(
        {
            "measure": "edit_share",
            "median": parts.median,
            "bins": parts.bins,
            "accuracy": [
                {"metric": metric, "bin": code}
                | {name: table[m, code] for name, table in values.items()}
                | {name: int(table[m, code]) for name, table in counted.items()}
                for m, metric in enumerate(pairs.metrics)
                for code in range(count)
            ],
            "people": None if apart is None or not len(apart[1]) else _quartiles(*apart),
        }
    )
    return found


def _middle(ordered: FloatArray) -> float:
    """The median of numbers in order."""
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def _starts(ordered: FloatArray) -> list[int]:
    """Where parts of shares in order begin, and their end."""
    count = max(min(BINS, len(ordered) // _FEWEST), 1)
    new = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: len(ordered)]
    part = new * count // max(len(ordered), 1)
    return [*new[np.append(True, part[1:] != part[:-1])[: len(new)]].tolist(), len(ordered)]


def _quartiles(human: str, shares: FloatArray) -> dict[str, Any]:
    low, median, high = np.quantile(shares, (0.25, 0.5, 0.75)).tolist()
    return {"human": human, "pairs": len(shares), "low": low, "median": median, "high": high}


CORRECTED = ("accuracy_corrected", "corrected_low", "corrected_high", "label_error")
"""What stands beside a metric's accuracy where the label error of its pairs is known."""


def corrected_accuracy(
    judgements: Judgements,
    stratum: IntArray,
    read: Sequence[tuple[int, int]],
    *,
    ties: str,
    resamples: int,
    seed: int,
) -> list[dict[str, float]] | None:
    """Accuracy over all outputs corrected for label error (Rogan and Gladen, 1978), a row per metric.

    `stratum` numbers the method and language of every pair, `read` has for each how many of its pairs were
    read and how many of these have a wrong label. With rate e of wrong labels, share t of ties and credit c
    for a tie, a metric of accuracy a is seen to be right in

        (1 - e) a + e (1 - a - (1 - 2 c) t),     hence     a = (seen - e (1 - (1 - 2 c) t)) / (1 - 2 e)

    for each stratum, if the metric is as often right about pairs with wrong labels as about the others of the
    stratum: it then prefers the copy. Intervals have both errors: clusters are resampled, and rates drawn
    from Beta(wrong + 1/2, read - wrong + 1/2). None where half the labels of a stratum are wrong, or more.
    """
    counts = np.array(read, dtype=np.float64).reshape(-1, 2)
    wrong, right = counts[:, 1], counts[:, 0] - counts[:, 1]
    if not len(read) or (wrong >= right).any():
        return None
    bootstrap = ClusterBootstrap(random.make_named_generator(seed, "bootstrap"), resamples)
    rng = random.make_named_generator(seed, "labels")
    drawn = np.minimum(rng.beta(wrong[:, None] + 0.5, right[:, None] + 0.5, (len(read), resamples)), 0.49)
    rate = (wrong / (wrong + right))[:, None]
    found = np.full((4, len(judgements.metrics)), np.nan)
    for m, outcome in enumerate(judgements.outcome):
        sums, clusters = _stratum_sums(judgements, outcome, stratum, len(read), TIE_CREDIT[ties])
        if not len(clusters):
            continue
        total = sums.sum(axis=1, keepdims=True)
        estimate = _rogan_gladen(total, rate)
        spread = _rogan_gladen(bootstrap.resample_sums(sums, clusters), drawn)
        ends = widened_percentile_interval(estimate, spread[None], np.array([len(clusters)]))
        share = total[2 * len(read) :] / total[2 * len(read) :].sum()
        found[:, m] = np.clip([estimate[0], ends[0][0], ends[1][0], (share * rate).sum()], 0, 1)
        if len(clusters) < 2:
            found[1:3, m] = np.nan
    return [dict(zip(CORRECTED, values)) for values in found.T.tolist()]


def _stratum_sums(
    judgements: Judgements, outcome: OutcomeArray, stratum: IntArray, count: int, credit: float
) -> tuple[FloatArray, IntArray]:
    """Per stratum and cluster: credit, what a wrong label gives or takes at most, size; [3 strata, clusters].

    Every item weighs as in the accuracy: the mean of its pairs.
    """
    weights = np.empty(0) if judgements.weights is None else judgements.weights
    codes = outcome, judgements.item, judgements.cluster, stratum
    items, clusters = int(judgements.item.max()) + 1, int(judgements.cluster.max()) + 1
    sums, used = _summed_strata(*codes, weights, items, clusters, count, credit)
    return np.ascontiguousarray(sums[:, used]), np.flatnonzero(used).astype(np.int32)


@kernel
def _summed_strata(
    outcome: OutcomeArray,
    item: IntArray,
    cluster: IntArray,
    stratum: IntArray,
    weights: FloatArray,
    items: int,
    clusters: int,
    count: int,
    credit: float,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The same of all clusters, and which of them have a pair."""
    pairs, used = np.zeros(items, np.int64), np.zeros(clusters, np.bool_)
    for k in range(len(outcome)):
        if outcome[k] != MISSING:
            pairs[item[k]] += 1
            used[cluster[k]] = True
    sums = np.zeros((3 * count, len(used)), np.float64)
    for k in range(len(outcome)):
        if outcome[k] == MISSING:
            continue
        weight = 1 / pairs[item[k]] * (weights[k] if len(weights) else 1.0)
        tied = outcome[k] == TIE
        sums[stratum[k], cluster[k]] += weight * ((outcome[k] == RIGHT) + credit * tied)
        sums[count + stratum[k], cluster[k]] += weight * (1 - (1 - 2 * credit) * tied)
        sums[2 * count + stratum[k], cluster[k]] += weight
    return sums, used


def _rogan_gladen(sums: FloatArray, rate: FloatArray) -> FloatArray:
    """The corrected accuracy from sums [3 strata, draws] and rates [strata, draws or 1], [draws]."""
    credit, most, size = np.split(sums, 3)
    return ratio(((credit - rate * most) / (1 - 2 * rate)).sum(axis=0), size.sum(axis=0))
