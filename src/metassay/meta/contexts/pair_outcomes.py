"""Outcomes of metrics on pairs of a better and a worse output, and the contexts in which the pairs lie."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.results.assay import GLOBAL
from metassay.stats.arrays import BoolArray, FloatArray, IntArray, LongArray
from metassay.stats.rank_correlation import STATISTICS

OutcomeArray = NDArray[np.int8]

RIGHT, TIE, WRONG, MISSING = 1, 0, -1, -2


@dataclass(frozen=True)
class PairOutcomes:
    """For each metric and each pair of a better and a worse output: whether the metric orders the pair
    correctly. The outcome is right, tie, wrong or missing.

    An outcome is missing where a score is undefined.
    Each pair has codes: `outputs` for its better output, `items` for the item of that output, `clusters` for
    the cluster of the item, `perturbations` for what made the other output worse. Codes index sorted lists
    that the caller keeps, so that results do not depend on the order of the pairs; `perturbation_names` is
    one of these lists. An output belongs to one item, an item to one cluster. `weights` are positive, one per
    output and repeated for each of its pairs; None weighs all alike. `worse_outputs` are codes of the worse
    outputs, where these are outputs of the data too and not perturbed versions; else None.
    """

    metrics: tuple[str, ...]
    perturbation_names: tuple[str, ...]
    outcomes: OutcomeArray
    items: IntArray
    outputs: IntArray
    clusters: IntArray
    perturbations: IntArray
    weights: FloatArray | None = None
    worse_outputs: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", np.ascontiguousarray(self.outcomes, dtype=np.int8))
        for name in ("items", "outputs", "clusters", "perturbations"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int32))
        if self.weights is not None:
            object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))
        if self.worse_outputs is not None:
            object.__setattr__(
                self, "worse_outputs", np.ascontiguousarray(self.worse_outputs, dtype=np.int32)
            )
        self._check_array_shapes()
        self._check_outcomes_and_codes()

    @property
    def pair_count(self) -> int:
        """Number of pairs of outputs."""
        return len(self.items)

    def _check_array_shapes(self) -> None:
        """Raise an error if the shape of an array is wrong, or a metric is named twice."""
        if len(set(self.metrics)) < len(self.metrics):
            raise InputError("a metric is named twice.")
        if self.outcomes.shape != (len(self.metrics), self.pair_count):
            expected = f"{len(self.metrics)} metrics × {self.pair_count} pairs"
            raise InputError(f"outcomes have shape {self.outcomes.shape}, not {expected}.")
        columns = (self.outputs, self.clusters, self.perturbations)
        if any(column.shape != (self.pair_count,) for column in columns):
            raise InputError("items, outputs, clusters and perturbations need one code for each pair.")
        if self.weights is not None and self.weights.shape != (self.pair_count,):
            raise InputError("weights need one number for each pair.")

    def _check_outcomes_and_codes(self) -> None:
        """Raise an error if an outcome, an integer code or a weight is not valid."""
        if self.pair_count == 0:
            return
        if self.outcomes.size and (self.outcomes.min() < MISSING or self.outcomes.max() > RIGHT):
            raise InputError("an outcome is none of right, tie, wrong and missing.")
        if min(self.items.min(), self.outputs.min(), self.clusters.min(), self.perturbations.min()) < 0:
            raise InputError("codes of items, outputs, clusters and perturbations start at 0.")
        if self.perturbations.max() >= len(self.perturbation_names):
            raise InputError("a pair has a perturbation without a name.")
        if self.weights is not None and not (np.isfinite(self.weights) & (self.weights > 0)).all():
            raise InputError("weights must be positive and finite.")
        if not has_one_value_per_key(self.outputs, self.items):
            raise InputError("an output belongs to two items.")
        if not has_one_value_per_key(self.items, self.clusters):
            remedy = "A cluster is an item, or a group of whole items such as a document."
            raise InputError("an item belongs to two clusters.", remedy=remedy)

    def select_metrics(self, metric_positions: LongArray) -> PairOutcomes:
        """Return a copy with the outcomes of the metrics at the given positions."""
        names = tuple(self.metrics[m] for m in metric_positions)
        are_first = (metric_positions == np.arange(len(metric_positions))).all()
        # A slice shares memory with these outcomes, while an index copies them.
        rows = slice(len(metric_positions)) if are_first else metric_positions
        return replace(self, metrics=names, outcomes=self.outcomes[rows])

    def select_pairs(self, selection: BoolArray | IntArray | LongArray) -> PairOutcomes:
        """Return a copy with the outcomes of the selected pairs, in the order of the selection."""
        if selection.dtype == np.bool_ and selection.all():
            return self
        return PairOutcomes(
            metrics=self.metrics,
            perturbation_names=self.perturbation_names,
            outcomes=self.outcomes[:, selection],
            items=self.items[selection],
            outputs=self.outputs[selection],
            clusters=self.clusters[selection],
            perturbations=self.perturbations[selection],
            weights=None if self.weights is None else self.weights[selection],
            worse_outputs=None if self.worse_outputs is None else self.worse_outputs[selection],
        )


@dataclass(frozen=True)
class PairContexts:
    """The context of each pair of outputs according to one column, such as its domain.

    A context is a set of outputs. `codes` are the contexts of the better outputs, `worse_codes` those of the
    worse outputs where these are outputs of the data too; None for pairs with a perturbed version. A pair of
    two systems' outputs belongs to the contexts of both (see `repeat_pairs_that_span_two_contexts`).
    """

    column: str
    values: tuple[str, ...]
    codes: IntArray
    worse_codes: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int32))
        if len(set(self.values)) < len(self.values):
            raise InputError(f"contexts of {self.column} are not distinct.")
        self._check_context_codes(self.codes)
        if self.worse_codes is not None:
            object.__setattr__(self, "worse_codes", np.ascontiguousarray(self.worse_codes, dtype=np.int32))
            self._check_context_codes(self.worse_codes)

    def _check_context_codes(self, context_codes: IntArray) -> None:
        """Raise an error unless there is one code for each pair, and each code is -1 or the position of a
        context.
        """
        has_bad_code = context_codes.size and (
            context_codes.min() < -1 or context_codes.max() >= len(self.values)
        )
        if context_codes.shape != (len(self.codes),) or has_bad_code:
            raise InputError(f"a pair has a context of {self.column} without a name.")

    def drop_empty_contexts(self) -> PairContexts:
        """Return a copy that lists only contexts with at least one pair."""
        has_pairs = np.zeros(len(self.values) + 1, dtype=np.bool_)  # the last entry is for code -1
        has_pairs[self.codes] = True
        if self.worse_codes is not None:
            has_pairs[self.worse_codes] = True
        used = np.flatnonzero(has_pairs[:-1])
        if len(used) == len(self.values):
            return self
        if len(used) == 0:
            raise InputError(f"no pair belongs to a context of {self.column}.")
        new_codes = np.full(len(self.values) + 1, -1, dtype=np.int32)  # the last entry is for code -1
        new_codes[used] = np.arange(len(used))
        return PairContexts(
            self.column,
            tuple(self.values[value] for value in used),
            new_codes[self.codes],
            None if self.worse_codes is None else new_codes[self.worse_codes],
        )

    def select_pairs(self, selection: IntArray | LongArray) -> PairContexts:
        """Return a copy with the contexts of the selected pairs, in the order of the selection."""
        worse_codes = None if self.worse_codes is None else self.worse_codes[selection]
        return PairContexts(self.column, self.values, self.codes[selection], worse_codes)

    def select_contexts(self, is_selected: BoolArray) -> PairContexts:
        """Return a copy that keeps only the selected contexts. Pairs of other contexts stay, but without a
        context.

        Every pair must lie in a single context, as after `repeat_pairs_that_span_two_contexts`.
        """
        if is_selected.all():
            return self
        is_kept = np.append(is_selected, False)[self.codes]  # the last entry is for code -1
        return PairContexts(self.column, self.values, np.where(is_kept, self.codes, -1))


def put_all_pairs_in_one_context(pair_outcomes: PairOutcomes) -> PairContexts:
    """Create a single context that contains every pair of outputs."""
    return PairContexts(GLOBAL, (GLOBAL,), np.zeros(pair_outcomes.pair_count, dtype=np.int32))


def compare_scores_of_pairs(
    better_scores: FloatArray, worse_scores: FloatArray, tie_tolerance: FloatArray
) -> OutcomeArray:
    """Compare the scores of the better and the worse output of each pair. Returns right, tie, wrong or
    missing for each metric and pair.

    Higher scores are better. A difference of at most the metric's tolerance is a tie; a score that is NaN
    makes the pair missing.

    >>> better, worse = np.array([[1.0, 0.5, np.nan]]), np.array([[0.0, 0.5, 1.0]])
    >>> compare_scores_of_pairs(better, worse, np.array([0.0])).tolist()
    [[1, 0, -2]]
    """
    better_scores = np.asarray(better_scores, dtype=np.float64)
    worse_scores = np.asarray(worse_scores, dtype=np.float64)
    tolerance = np.asarray(tie_tolerance, dtype=np.float64)
    if (
        better_scores.shape != worse_scores.shape
        or better_scores.ndim != 2
        or tolerance.shape != better_scores.shape[:1]
    ):
        raise InputError("scores need the shape metrics × pairs on both sides, and one tolerance per metric.")
    if np.isinf(better_scores).any() or np.isinf(worse_scores).any():
        raise InputError("a score is infinite.")
    outcomes = np.empty(better_scores.shape, dtype=np.int8)
    for m in range(len(better_scores)):  # one metric at a time, so that memory holds one row of differences
        difference = better_scores[m] - worse_scores[m]
        outcomes[m] = (difference > tolerance[m]).astype(np.int8) - (difference < -tolerance[m])
        outcomes[m][np.isnan(difference)] = MISSING
    return outcomes


def has_one_value_per_key(keys: IntArray, values: IntArray) -> bool:
    """Return whether equal keys always come with equal values."""
    # If a key has several values, its last one is written, and the others differ from it.
    value_of_key = np.empty(int(keys.max()) + 1, dtype=values.dtype)
    value_of_key[keys] = values
    return bool((value_of_key[keys] == values).all())


def check_pair_outcomes_and_contexts(
    pair_outcomes: PairOutcomes,
    contexts: Sequence[PairContexts],
    agreement_name: str,
    control_metrics: Collection[str],
) -> None:
    """Raise an error if the pairs, contexts, control metrics or rank correlation are not valid for an
    assay.
    """
    if agreement_name not in STATISTICS:
        raise UnknownName("rank agreement", agreement_name, STATISTICS)
    if pair_outcomes.pair_count == 0:
        raise InputError("there are no pairs to compare.")
    if not set(pair_outcomes.metrics) - set(control_metrics):
        raise InputError("there is no metric to assay.")
    for column in contexts:
        if column.codes.shape != (pair_outcomes.pair_count,):
            raise InputError(f"contexts of {column.column} need one code for each pair.")
        if GLOBAL in column.values:
            remedy = "This name stands for all outputs together. Rename the value."
            raise InputError(f"a context of {column.column} is called {GLOBAL!r}.", remedy=remedy)
        if not has_one_value_per_key(pair_outcomes.outputs, column.codes):
            raise InputError(f"an output belongs to two contexts of {column.column}.")
