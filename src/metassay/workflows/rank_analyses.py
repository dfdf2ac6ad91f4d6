"""The further analyses that `rank --analysis` runs, such as how many items are needed to tell
systems apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.decisions.agreement_curves import estimate_agreement_curves
from metassay.meta.people.discrimination import count_significant_metric_differences
from metassay.meta.people.human_ceiling import estimate_agreement_between_raters
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metrics
from metassay.meta.people.power import (
    count_items_needed_to_separate_metrics,
    count_items_needed_to_separate_systems,
)
from metassay.meta.people.ranking_data import GLOBAL, RankingData
from metassay.meta.people.stability import measure_stability_over_items, measure_stability_over_systems
from metassay.options import Progress
from metassay.results.rank import (
    AgreementCurve,
    CorpusAgreement,
    DiscriminationRow,
    HumanCeiling,
    RankAnalyses,
    RequiredItems,
    StabilityRow,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.random import hash_name_to_integer
from metassay.workflows.corpus_agreement import compare_corpus_scores_with_segment_means
from metassay.workflows.read import Source


@dataclass(frozen=True)
class AnalysisInput:
    """The data and settings that all further analyses of `rank` use."""

    source: Source
    """What the user passed, for analyses that need the texts."""
    cubes: Sequence[ScoreCube]
    datasets: Sequence[RankingData]
    human: str
    meta_metrics: tuple[MetaMetric, ...]
    settings: ComparisonSettings
    context_columns: tuple[str, ...] = ()
    """Columns for whose values `thresholds` is also computed."""
    fewest_items: int = 0
    """Contexts with fewer items are left out."""

    @property
    def meta_metrics_with_pa_and_spa(self) -> tuple[MetaMetric, ...]:
        """The requested meta-metrics, and pairwise accuracy (PA) and soft pairwise accuracy (SPA) if they are
        not among them.
        """
        return tuple(dict.fromkeys([*self.meta_metrics, *parse_meta_metrics("pa,spa")]))

    def iterate_datasets_without_missing_scores(self) -> Iterator[tuple[RankingData, ScoreArrays]]:
        """Yield each data set with its scores on the items that all metrics score."""
        for data in self.datasets:
            if not data.is_scored_by_all_metrics.any():
                raise InputError(
                    f"{data.cube.dataset}: no item has scores of all metrics.",
                    remedy="Name only metrics with complete scores: --metrics.",
                )
            metrics = data.scores.select_metrics(data.metric_positions)
            yield data, metrics.select_items_and_systems(items=data.is_scored_by_all_metrics)


def run_ranking_analyses(
    analysis_names: Sequence[str], analysis_input: AnalysisInput, progress: Progress | None = None
) -> RankAnalyses:
    """Run the analyses of a ranking of metrics that the user requested by name."""
    rows: dict[str, Any] = {}
    for done, name in enumerate(analysis_names, start=1):
        rows[name] = ANALYSES[name](analysis_input)
        if progress is not None:
            progress("analysing", done, len(analysis_names))
    return RankAnalyses(**rows)


def _measure_ranking_stability(analysis_input: AnalysisInput) -> list[StabilityRow]:
    """Measure how much the ranking of metrics changes with fewer systems and with fewer items."""
    rows: list[StabilityRow] = []
    trials = analysis_input.settings.draws
    seed = analysis_input.settings.seed
    for data, scores in analysis_input.iterate_datasets_without_missing_scores():
        dataset = data.cube.dataset
        names = tuple(data.cube.metric_scores)
        meta_metrics = analysis_input.meta_metrics_with_pa_and_spa
        rows += measure_stability_over_systems(dataset, meta_metrics, scores, trials=trials, seed=seed)
        for meta_metric in meta_metrics:
            rows += measure_stability_over_items(
                dataset, meta_metric, scores, names, trials=trials, seed=seed
            )
    return rows


def _count_distinguishable_metric_pairs(analysis_input: AnalysisInput) -> list[DiscriminationRow]:
    """Count for each meta-metric (a measure of agreement with human scores) how many pairs of metrics it
    distinguishes significantly.
    """
    rows = []
    for data, scores in analysis_input.iterate_datasets_without_missing_scores():
        # Random numbers depend on the name of the data set, not on how many others are analysed before it.
        settings = replace(analysis_input.settings, stream=hash_name_to_integer(data.cube.dataset))
        rows += [
            count_significant_metric_differences(data.cube.dataset, meta_metric, scores, settings)
            for meta_metric in analysis_input.meta_metrics_with_pa_and_spa
        ]
    return rows


def _measure_agreement_of_raters(analysis_input: AnalysisInput) -> list[HumanCeiling]:
    """Measure how well each human rater agrees with the mean of the other raters. No metric is expected to
    agree better.
    """
    rows: list[HumanCeiling] = []
    prefix = f"{analysis_input.human}:"  # the scores of one rater are named `mqm:rater1`
    for cube in analysis_input.cubes:
        raters = {
            name: cube.get_higher_is_better_scores(name)
            for name in cube.human_scores
            if name.startswith(prefix)
        }
        if len(raters) < 2:
            raise InputError(
                f"{cube.dataset}: the ceiling needs the scores of several raters.",
                remedy=f"Join the ratings (rater, category, severity), or name columns {prefix}NAME.",
            )
        for meta_metric in analysis_input.meta_metrics:
            rows += estimate_agreement_between_raters(
                cube.dataset,
                meta_metric,
                raters,
                draws=analysis_input.settings.draws,
                seed=analysis_input.settings.seed,
            )
    return rows


def _estimate_human_agreement_by_score_difference(analysis_input: AnalysisInput) -> list[AgreementCurve]:
    """Estimate how often people agree with a metric about which output or system is better, by the difference
    of the metric's scores.

    This is done for all items, and for each context with at least `fewest_items` items.
    """
    seed = analysis_input.settings.seed
    curves: list[AgreementCurve] = []
    for data, scores in analysis_input.iterate_datasets_without_missing_scores():
        dataset = data.cube.dataset
        metrics = tuple(data.cube.metric_scores)
        curves += estimate_agreement_curves(scores, metrics, dataset=dataset, context=GLOBAL, seed=seed)
        for column in analysis_input.context_columns:
            labels = np.array(data.cube.item_metadata[column], dtype=object)[data.is_scored_by_all_metrics]
            for context in sorted({label for label in labels if label is not None}):
                is_inside = labels == context
                if is_inside.sum() >= analysis_input.fewest_items:
                    curves += estimate_agreement_curves(
                        scores.select_items_and_systems(items=is_inside),
                        metrics,
                        dataset=dataset,
                        context=context,
                        context_column=column,
                        seed=seed,
                    )
    return curves


def _estimate_required_item_counts(analysis_input: AnalysisInput) -> list[RequiredItems]:
    """Estimate how many items are needed to tell two systems apart, by human scores or by each metric, and to
    tell two metrics apart.
    """
    rows = []
    settings = analysis_input.settings
    for data, scores in analysis_input.iterate_datasets_without_missing_scores():
        dataset = data.cube.dataset
        items = scores.human.shape[1]
        names = (analysis_input.human, *data.cube.metric_scores)
        for name, system_scores in zip(names, (scores.human, *scores.metrics)):
            required = count_items_needed_to_separate_systems(system_scores)
            rows.append(_summarize_required_item_counts(dataset, "systems", name, required, items))
        for meta_metric in analysis_input.meta_metrics:
            required_by_metrics = count_items_needed_to_separate_metrics(
                meta_metric, scores, draws=settings.draws, seed=settings.seed
            )
            if required_by_metrics is not None:
                rows.append(
                    _summarize_required_item_counts(
                        dataset, "metrics", str(meta_metric), required_by_metrics, items
                    )
                )
    return rows


def _summarize_required_item_counts(
    dataset: str, compared_kind: str, comparing_score: str, required_counts: FloatArray, available_count: int
) -> RequiredItems:
    """Summarise how many items are needed to tell apart two systems or two metrics, over all pairs of them.
    The median is None if no number is enough.
    """
    median = float(np.median(required_counts)) if len(required_counts) else np.inf
    return RequiredItems(
        dataset=dataset,
        separates=compared_kind,
        by=comparing_score,
        median_items=median if np.isfinite(median) else None,
        separable_now=float((required_counts <= available_count).mean()) if len(required_counts) else None,
    )


def _compare_corpus_scores_with_item_means(analysis_input: AnalysisInput) -> list[CorpusAgreement]:
    """Measure how well metrics agree with human scores about systems, by corpus scores and by means of item
    scores.
    """
    return compare_corpus_scores_with_segment_means(
        analysis_input.source, analysis_input.datasets, analysis_input.settings
    )


# The analyses by their names in `--analysis`, which are also the fields of `RankAnalyses`.
ANALYSES: dict[str, Callable[[AnalysisInput], Sequence[Any]]] = {
    "stability": _measure_ranking_stability,
    "discrimination": _count_distinguishable_metric_pairs,
    "ceiling": _measure_agreement_of_raters,
    "thresholds": _estimate_human_agreement_by_score_difference,
    "power": _estimate_required_item_counts,
    "corpus": _compare_corpus_scores_with_item_means,
}
