"""Rank metrics by how far they mark the same characters as people: F1 of error spans.

A rating is what one person marked in one output. Totals over all ratings give precision, recall and F1; the
macro-average over ratings is reported next to them. Metrics are compared by exchanging whole items
(`perm-inputs`), systems or single outputs (`cells`), or by resampling items.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.meta.people.caveats import MissingSpans
from metassay.meta.people.meta_metrics.comparison_settings import BOOTSTRAP, NO_TEST, ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.meta.people.meta_metrics.registry import SPANS
from metassay.meta.people.metric_comparison import POPULATION_OF_TEST, PValueMatrices
from metassay.meta.people.ranking_data import GLOBAL
from metassay.meta.people.significance_clusters import (
    assign_significance_clusters_by_p_values,
    list_metric_comparisons,
    sort_metrics_best_first,
)
from metassay.meta.people.spans import (
    Spans,
    average_precision_recall_and_f1,
    compute_precision_recall_and_f1,
    count_marked_characters,
)
from metassay.results.base import none_if_nan
from metassay.results.rank import RankedMetric, Ranking
from metassay.stats.arrays import FloatArray, LongArray, divide_or_nan
from metassay.stats.random import (
    RESAMPLED_UNITS,
    SPAN_EXCHANGES,
    hash_name_to_integer,
    spawn_random_generator,
)

SPAN_TESTS = ("perm-inputs", "perm-systems", "cells", BOOTSTRAP, NO_TEST)
# Baselines: a metric that marks nothing, and one that marks every output completely.
NOTHING, EVERYTHING = "nothing", "everything"
_KEY_COLUMNS = ("testset", "lp", "doc_id", "seg_id", "system")
_NO_METADATA = ("seg_id", "system", "hyp", "src", "rater", "source_segment", "reference_segment")


@dataclass(frozen=True)
class SpanRatings:
    """Numbers of characters that raters and metrics marked as errors, for each output and rater."""

    dataset: str
    metrics: tuple[str, ...]
    """Names of the metrics, and then of the baselines."""
    counts: FloatArray
    """`[metrics, ratings, 3]`: characters shared, marked by the metric, marked by people. NaN where a metric
    did not score an output."""
    systems: tuple[str, ...]
    """The system of each rating."""
    items: tuple[str, ...]
    """The item of each rating."""
    metadata: Mapping[str, tuple[str | None, ...]]
    """Columns with one value per rating."""
    baselines: tuple[str, ...] = ()
    caveats: tuple[MissingSpans, ...] = ()

    @property
    def metric_count(self) -> int:
        """Number of metrics, not counting the baselines."""
        return len(self.metrics) - len(self.baselines)

    @property
    def content_hash(self) -> str:
        """Hash of all names and numbers in this object."""
        digest = blake2b(digest_size=16)
        names = (self.dataset, self.metrics, self.systems, self.items, sorted(self.metadata.items()))
        digest.update(repr(names).encode())
        digest.update(self.counts.tobytes())
        return digest.hexdigest()

    def select_ratings(self, is_selected: NDArray[np.bool_]) -> SpanRatings:
        """Return a copy with the selected ratings only."""
        return replace(
            self,
            counts=self.counts[:, is_selected],
            systems=tuple(itertools.compress(self.systems, is_selected)),
            items=tuple(itertools.compress(self.items, is_selected)),
            metadata={
                name: tuple(itertools.compress(values, is_selected)) for name, values in self.metadata.items()
            },
        )

    def assign_ratings_to_resampling_units(self, test_name: str, cluster_column: str | None) -> LongArray:
        """Return for each rating the number of the group with which it is exchanged or resampled in a test:
        an item, a cluster of items, a system or an output.
        """
        names: Sequence[str]
        if test_name == "perm-systems":
            names = self.systems
        elif test_name == "cells":
            names = [f"{system}\t{item}" for system, item in zip(self.systems, self.items)]
        elif cluster_column is None:
            names = self.items
        else:
            if cluster_column not in self.metadata:
                raise UnknownName("column of segments", cluster_column, self.metadata)
            names = [
                value or f"segment {item}" for value, item in zip(self.metadata[cluster_column], self.items)
            ]
        codes: LongArray = np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)
        return codes


def match_human_and_metric_spans(
    human_span_table: pl.DataFrame, metric_span_tables: Mapping[str, pl.DataFrame], *, dataset: str
) -> SpanRatings:
    """Count the characters that people and metrics marked as errors in the same outputs, from tables of
    marked spans. Outputs are matched by the key columns of the tables.

    Tables have the columns `system, seg_id, spans`, and any of `testset, lp, doc_id, rater, hyp`. The
    document is part of the key only where ids of items repeat over documents.
    """
    if not metric_span_tables:
        raise InputError(
            "no metric has error spans.", remedy="Name a file of spans with --spans METRIC=FILE."
        )
    human_spans = [_convert_to_start_end_pairs(spans) for spans in human_span_table["spans"]]
    counts: list[list[tuple[float, float, float]]] = []
    caveats = []
    for name, table in metric_span_tables.items():
        spans_by_key, keys = _map_outputs_to_metric_spans(table, human_span_table, name)
        metric_spans = [spans_by_key.get(key) for key in human_span_table.select(keys).iter_rows()]
        missing = metric_spans.count(None)
        if missing == len(metric_spans):
            raise InputError(
                f"{dataset}: {name} has no spans for any rated output (matched by {', '.join(keys)}; "
                f"{'/'.join(map(str, human_span_table.select(keys).row(0)))} is missing)."
            )
        if missing:
            scored = len(metric_spans) - missing
            caveats.append(MissingSpans(name, scored, len(metric_spans)))
        counts.append([_count_marked_characters_or_nan(*pair) for pair in zip(human_spans, metric_spans)])
    baselines = _count_characters_marked_by_baselines(human_span_table, human_spans)
    metadata_columns = [
        name
        for name, kind in human_span_table.schema.items()
        if not kind.is_nested() and name not in _NO_METADATA
    ]
    return SpanRatings(
        dataset,
        metrics=(*metric_span_tables, *baselines),
        counts=np.array([*counts, *baselines.values()], dtype=np.float64),
        systems=tuple(human_span_table["system"]),
        items=tuple(human_span_table["seg_id"]),
        metadata={name: tuple(human_span_table[name].cast(pl.String)) for name in metadata_columns},
        baselines=tuple(baselines),
        caveats=tuple(caveats),
    )


def _count_characters_marked_by_baselines(
    human_span_table: pl.DataFrame, human_spans: Sequence[Spans]
) -> dict[str, list[tuple[float, float, float]]]:
    """Count the characters that two baselines mark as errors: one marks nothing, the other marks every
    output completely.
    """
    baselines = {NOTHING: [count_marked_characters(spans, []) for spans in human_spans]}
    if "hyp" in human_span_table.columns and human_span_table["hyp"].is_not_null().all():
        whole_outputs: list[Spans] = [[(0, len(text))] if text else [] for text in human_span_table["hyp"]]
        baselines[EVERYTHING] = [count_marked_characters(*pair) for pair in zip(human_spans, whole_outputs)]
    return baselines


def _count_marked_characters_or_nan(
    human_spans: Spans, metric_spans: Spans | None
) -> tuple[float, float, float]:
    """Count the characters of one output that people and a metric mark as errors. Returns NaN if the
    metric did not score the output.
    """
    if metric_spans is None:
        return (np.nan, np.nan, np.nan)
    return count_marked_characters(human_spans, metric_spans)


def _convert_to_start_end_pairs(spans: Any) -> list[tuple[int, int]]:
    """Convert spans from dictionaries to pairs of start and end positions."""
    return [(span["start"], span["end"]) for span in spans]


def _map_outputs_to_metric_spans(
    metric_span_table: pl.DataFrame, human_span_table: pl.DataFrame, metric_name: str
) -> tuple[dict[tuple[Any, ...], Spans], list[str]]:
    """Return a dictionary from each output to the errors that a metric marked in it. Also returns the columns
    that identify an output.
    """
    keys = [
        key for key in _KEY_COLUMNS if key in metric_span_table.columns and key in human_span_table.columns
    ]
    if "doc_id" in keys and not metric_span_table.select(set(keys) - {"doc_id"}).is_duplicated().any():
        keys.remove("doc_id")
    is_repeated = metric_span_table.select(keys).is_duplicated()
    if is_repeated.any():
        row = int(is_repeated.arg_max() or 0) + 1
        raise InputError(f"{metric_name} has two rows for one output: row {row} repeats {', '.join(keys)}.")
    spans_by_key: dict[tuple[Any, ...], Spans] = {
        key: _convert_to_start_end_pairs(spans)
        for key, spans in zip(metric_span_table.select(keys).iter_rows(), metric_span_table["spans"])
    }
    return spans_by_key, keys


@dataclass(frozen=True)
class SpanRanking:
    """Ranking of metrics by how well the errors they mark agree with those that people mark (F1), on all
    outputs or in one context.
    """

    ratings: SpanRatings
    values: FloatArray
    low: FloatArray
    high: FloatArray
    differences: MetricDifferences | None
    test: str
    holm: bool
    context_column: str | None
    context: str

    def to_result(self) -> Ranking:
        """Convert the ranking to its JSON form."""
        ratings = self.ratings
        count = ratings.metric_count
        best_first = sort_metrics_best_first(self.values[:count], ratings.metrics)
        p_values = PValueMatrices.create_nan_matrices(count)
        if self.differences is not None:
            is_defined = ~np.isnan(self.differences.observed)
            p_values = PValueMatrices.compute_p_values_from_differences(self.differences, count, is_defined)
        clusters = assign_significance_clusters_by_p_values(
            best_first, self.values, p_values.one_sided, holm=self.holm
        )
        baselines = range(count, len(ratings.metrics))
        return Ranking(
            dataset=ratings.dataset,
            meta_metric=SPANS,
            context=self.context,
            context_column=self.context_column,
            systems=len(set(ratings.systems)),
            items=len(set(ratings.items)),
            dropped_items=0,
            answers_for=POPULATION_OF_TEST.get(self.test),
            method=None,
            metrics=[
                self._build_span_result_of_metric(m, clusters.get(m)) for m in (*best_first, *baselines)
            ],
            comparisons=list_metric_comparisons(best_first, ratings.metrics, p_values, holm=self.holm),
        )

    def _build_span_result_of_metric(self, metric_index: int, rank: int | None) -> RankedMetric:
        """Build the result row of one metric: precision, recall and F1 of the errors it marks, over all
        characters and averaged over ratings.
        """
        counts = self.ratings.counts[metric_index]
        is_scored = ~np.isnan(counts).any(axis=-1)
        micro = compute_precision_recall_and_f1(counts[is_scored].sum(axis=0))
        macro = average_precision_recall_and_f1(counts[is_scored])
        return RankedMetric(
            metric=self.ratings.metrics[metric_index],
            value=none_if_nan(self.values[metric_index]),
            low=none_if_nan(self.low[metric_index]),
            high=none_if_nan(self.high[metric_index]),
            rank=rank,
            items=len(set(itertools.compress(self.ratings.items, is_scored))),
            baseline=metric_index >= self.ratings.metric_count,
            precision=none_if_nan(micro.precision),
            recall=none_if_nan(micro.recall),
            macro_precision=none_if_nan(macro.precision),
            macro_recall=none_if_nan(macro.recall),
            macro_f1=none_if_nan(macro.f1),
        )


def rank_metrics_by_error_spans(
    span_ratings: SpanRatings,
    settings: ComparisonSettings,
    *,
    context_columns: Sequence[str] = (),
    cluster: str | None = None,
    holm: bool = False,
    fewest_items: int = 0,
) -> list[SpanRanking]:
    """Rank metrics by how well the errors they mark agree with those that people mark (F1), over all
    outputs and in each large context.
    """
    if settings.test not in SPAN_TESTS:
        raise InputError(
            f"{settings.test} cannot be used with spans.", remedy=f"Use one of {', '.join(SPAN_TESTS)}."
        )
    rankings = [
        _rank_metrics_on_span_ratings(
            span_ratings, settings, cluster, holm=holm, context_column=None, context=GLOBAL
        )
    ]
    for column in context_columns:
        if column not in span_ratings.metadata:
            raise UnknownName("column with one value per segment", column, span_ratings.metadata)
        labels = span_ratings.metadata[column]
        for context in sorted({label for label in labels if label is not None}):
            in_context = span_ratings.select_ratings(np.array([label == context for label in labels]))
            if len(set(in_context.items)) >= fewest_items:
                rankings.append(
                    _rank_metrics_on_span_ratings(
                        in_context, settings, cluster, holm=holm, context_column=column, context=context
                    )
                )
    return rankings


def _rank_metrics_on_span_ratings(
    span_ratings: SpanRatings,
    settings: ComparisonSettings,
    cluster_column: str | None,
    *,
    holm: bool,
    context_column: str | None,
    context: str,
) -> SpanRanking:
    """Compute for each metric how well the errors it marks agree with those that people mark (F1), with
    bootstrap intervals. Test differences between metrics.
    """
    sums = _sum_counts_over_clusters(
        span_ratings.counts, span_ratings.assign_ratings_to_resampling_units("perm-inputs", cluster_column)
    )
    weights = _draw_cluster_weights(span_ratings, settings, sums.shape[1])
    resampled = _compute_f1(np.einsum("du,muk->mdk", weights, sums))
    low, high = np.nanquantile(resampled, [0.025, 0.975], axis=1)
    differences = None
    if settings.test != NO_TEST and span_ratings.metric_count > 1:
        differences = _compute_f1_differences(span_ratings, settings, cluster_column)
    return SpanRanking(
        span_ratings,
        values=_compute_f1(sums.sum(axis=1)),
        low=low,
        high=high,
        differences=differences,
        test=settings.test,
        holm=holm,
        context_column=context_column,
        context=context,
    )


def _draw_cluster_weights(
    span_ratings: SpanRatings, settings: ComparisonSettings, cluster_count: int
) -> FloatArray:
    """Draw bootstrap resamples of clusters. Returns how often each resample contains each cluster."""
    rng = spawn_random_generator(settings.seed, hash_name_to_integer(span_ratings.dataset), RESAMPLED_UNITS)
    weights = rng.multinomial(cluster_count, np.full(cluster_count, 1 / cluster_count), size=settings.draws)
    return weights.astype(np.float64)


def _compute_f1_differences(
    span_ratings: SpanRatings, settings: ComparisonSettings, cluster_column: str | None
) -> MetricDifferences:
    """Compute the difference in F1 between every two metrics, as observed and in random draws, on outputs
    that both metrics scored.

    Under the null hypothesis clusters of ratings are exchanged between A and B; `bootstrap` resamples them.
    """
    is_resampled = settings.test == BOOTSTRAP
    codes = span_ratings.assign_ratings_to_resampling_units(
        "perm-inputs" if is_resampled else settings.test, cluster_column
    )
    cluster_count = int(codes.max()) + 1
    if is_resampled:
        weights = _draw_cluster_weights(span_ratings, settings, cluster_count)
    else:
        rng = spawn_random_generator(
            settings.seed, hash_name_to_integer(span_ratings.dataset), SPAN_EXCHANGES
        )
        weights = (rng.random((settings.draws, cluster_count)) < 0.5).astype(np.float64)
    pairs = list(itertools.combinations(range(span_ratings.metric_count), 2))
    observed = np.empty(len(pairs))
    drawn = np.empty((len(pairs), settings.draws), dtype=np.float32)
    for position, pair in enumerate(pairs):
        counts = span_ratings.counts[list(pair)]
        is_shared = np.asarray(~np.isnan(counts).any(axis=(0, 2)))
        sums = _sum_counts_over_clusters(np.where(is_shared[None, :, None], counts, np.nan), codes)
        totals = sums.sum(axis=1)
        observed[position] = float(_compute_f1(totals[0]) - _compute_f1(totals[1]))
        if is_resampled:
            drawn_totals = weights @ sums
        else:
            exchanged = weights @ (sums[1] - sums[0])
            drawn_totals = np.stack([totals[0] + exchanged, totals[1] - exchanged])
        drawn[position] = _compute_f1(drawn_totals[0]) - _compute_f1(drawn_totals[1])
    return MetricDifferences(observed, drawn, is_resampled)


def _sum_counts_over_clusters(rating_counts: FloatArray, cluster_codes: LongArray) -> FloatArray:
    """Sum the numbers of marked characters over clusters of ratings. Outputs that a metric did not score add
    nothing.
    """
    sums = np.zeros((len(rating_counts), int(cluster_codes.max()) + 1, 3))
    for metric_counts, metric_sums in zip(rating_counts, sums):
        is_scored = np.asarray(~np.isnan(metric_counts).any(axis=-1))
        np.add.at(metric_sums, cluster_codes[is_scored], metric_counts[is_scored])
    return sums


def _compute_f1(character_counts: FloatArray) -> FloatArray:
    """Compute F1 from three numbers of characters: marked by both, marked by the metric, marked by people.
    Returns NaN if nothing is marked.

    The numbers are in the last axis.
    """
    shared = character_counts[..., 0]
    marked = character_counts[..., 1] + character_counts[..., 2]
    return divide_or_nan(2 * shared, marked)
