"""Contextual meta-evaluation of metrics: from outcomes on pairs to the metric to trust in each context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.meta.contexts.accuracy import sort_pairs_by_item
from metassay.meta.contexts.agreement_prediction import ContextProperties, collect_properties_of_contexts
from metassay.meta.contexts.choice import get_rank_of_cost_class
from metassay.meta.contexts.column_analysis import (
    AnalysisSettings,
    ColumnAnalysis,
    GlobalAnalysis,
    estimate_accuracy_in_each_context,
    estimate_accuracy_over_all_pairs,
)
from metassay.meta.contexts.confounding import (
    PerturbationEffects,
    measure_accuracy_dependence_on_perturbation,
)
from metassay.meta.contexts.human_pairs import HumanAnalysis, HumanPairs, compare_metrics_with_human_scores
from metassay.meta.contexts.pair_outcomes import (
    PairContexts,
    PairOutcomes,
    check_pair_outcomes_and_contexts,
    put_all_pairs_in_one_context,
)
from metassay.meta.contexts.saved_labels import estimate_share_of_human_labels_saved
from metassay.meta.contexts.shared_errors import (
    correlate_errors_of_metrics,
    group_metrics_with_identical_pair_orders,
)
from metassay.meta.contexts.soft_pairwise_accuracy import measure_soft_pairwise_accuracy
from metassay.stats import random
from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves

# Random divisions of the clusters into halves, from which the noise ceiling is estimated.
_SPLITS = 100
_MOST_CONCURRENT_PAIRS = 2**22  # with more pairs the analyses run one after the other, to save memory
# With more contexts, the effect of perturbations is measured over all outputs together.
_MOST_CONFOUNDING_CONTEXTS = 300


@dataclass(frozen=True)
class PairOutcomeAnalysis:
    """Accuracies, tests and rankings of metrics, computed from all pairs of a better and a worse output in
    one data set.

    `context_properties` are the known properties of the contexts of each column. `radius` bounds the shift of
    the mix of contexts in the robust accuracy.
    """

    metrics: tuple[str, ...]
    perturbations: tuple[str, ...]
    settings: AnalysisSettings
    overall: GlobalAnalysis
    columns: Mapping[str, ColumnAnalysis]
    confounding: PerturbationEffects
    human: HumanAnalysis | None
    error_correlations: FloatArray
    same_decisions: list[list[str]]
    context_properties: Mapping[str, ContextProperties]
    cost_classes: Mapping[str, str]
    uninformed: frozenset[str]
    radius: float
    pairs_from: str

    @property
    def competing_metrics(self) -> list[str]:
        """Names of the metrics that may be recommended: all metrics except the controls."""
        return [self.metrics[m] for m in self.settings.competing]

    @property
    def sentinel_positions(self) -> list[int]:
        """Positions of the control metrics, which are reported but never recommended."""
        return [m for m in range(len(self.metrics)) if m not in self.settings.competing]


def analyze_pairs(
    pair_outcomes: PairOutcomes,
    contexts: Sequence[PairContexts],
    *,
    ties: str = "strict",
    agreement: str = "tau_ap_b",
    seed: int = 0,
    resamples: int = 1000,
    permutations: int = 999,
    all_perturbations: PairOutcomes | None = None,
    cost_classes: Mapping[str, str] | None = None,
    sentinels: Collection[str] = (),
    uninformed: Collection[str] = (),
    context_properties: Mapping[str, ContextProperties] | None = None,
    minimum_items: int = 20,
    radius: float = 0.1,
    workers: int = 1,
    pairs_from: str = "",
    human_pairs: HumanPairs | None = None,
) -> PairOutcomeAnalysis:
    """Compute how often each metric orders a better and a worse output correctly, over all pairs and in every
    context (such as each domain). Test for differences between metrics and contexts.

    `all_perturbations` are outcomes with all applicable perturbations of every output, for confounding, with
    the same metrics and codes of outputs; by default `pair_outcomes`. `cost_classes` only order a top group.
    `sentinels` are metrics that check the assay: reported, but neither ranked nor recommended; `uninformed`
    ones are ranked, as requested, but never the first choice. `context_properties` say more about the
    contexts of a column, {column: {name: values in the order of the contexts}}; columns that enclose its
    contexts are added. Contexts below `minimum_items` are named and take no part in claims or in the test of
    H1. `radius` bounds the shift of the mix of contexts in the robust accuracy. `pairs_from` says where the
    pairs come from: rule, model or people. Results depend on `seed`, never on `workers` or the order of the
    pairs.
    """
    check_pair_outcomes_and_contexts(pair_outcomes, contexts, agreement, sentinels)
    competing = [m for m, name in enumerate(pair_outcomes.metrics) if name not in sentinels]
    competing_metrics = [pair_outcomes.metrics[m] for m in competing]
    known_costs = cost_classes or {}
    settings = AnalysisSettings(
        ties=ties,
        agreement=agreement,
        permutations=permutations,
        workers=workers,
        competing=np.array(competing, dtype=np.int64),
        bootstrap=ClusterBootstrap(random.create_random_generator_for_name(seed, "bootstrap"), resamples),
        halves=ClusterHalves(random.create_random_generator_for_name(seed, "halves"), _SPLITS),
        signs=ClusterHalves(random.create_random_generator_for_name(seed, "signs"), resamples),
        minimum_items=minimum_items,
        cost_ranks=np.array(
            [get_rank_of_cost_class(known_costs.get(metric)) for metric in competing_metrics]
        ),
        is_uninformed=np.array([metric in uninformed for metric in competing_metrics], dtype=np.bool_),
    )
    pairs, columns = sort_pairs_by_item(pair_outcomes, [column.drop_empty_contexts() for column in contexts])
    combinations_rng = random.create_random_generator_for_name(seed, "combinations")
    # Without human scores of systems there are no test sets, and nothing to compare metrics with.
    test_sets = () if human_pairs is None else human_pairs.test_sets
    concurrent_workers = workers if pairs.pair_count <= _MOST_CONCURRENT_PAIRS else 1
    # One thread of BLAS, so that results have the same bytes on any machine.
    with threadpool_limits(1), _open_background_executor(concurrent_workers) as start:
        if test_sets:
            get_spa = start(measure_soft_pairwise_accuracy, test_sets, settings, seed)
            get_saved_labels = start(estimate_share_of_human_labels_saved, test_sets, settings.competing)
        get_confounding = start(
            _measure_perturbation_effects,
            all_perturbations,
            pairs,
            columns,
            settings,
            combinations_rng,
        )
        overall = estimate_accuracy_over_all_pairs(pairs, settings)
        column_analyses = {}
        for column in columns:
            rng = random.create_random_generator_for_name(seed, "exchange", column.column)
            column_analyses[column.column] = estimate_accuracy_in_each_context(
                pairs, column, overall, settings, rng
            )
        spa = get_spa() if test_sets else None
        confounding = get_confounding()
        human = None
        if human_pairs is not None:
            saved_labels = get_saved_labels() if test_sets else None
            human = compare_metrics_with_human_scores(
                human_pairs, overall, column_analyses, settings, spa, saved_labels
            )
    competing_outcomes = pairs.select_metrics(settings.competing)
    outcome_sets = [competing_outcomes]
    if human_pairs is not None:
        outcome_sets.append(human_pairs.outcomes.select_metrics(settings.competing))
    return PairOutcomeAnalysis(
        metrics=pair_outcomes.metrics,
        perturbations=pair_outcomes.perturbation_names,
        settings=settings,
        overall=overall,
        columns=column_analyses,
        confounding=confounding,
        human=human,
        error_correlations=correlate_errors_of_metrics(competing_outcomes),
        same_decisions=group_metrics_with_identical_pair_orders(outcome_sets),
        context_properties=collect_properties_of_contexts(contexts, columns, context_properties or {}),
        cost_classes=known_costs,
        uninformed=frozenset(uninformed),
        radius=radius,
        pairs_from=pairs_from,
    )


@contextmanager
def _open_background_executor(workers: int) -> Iterator[Callable[..., Callable[[], Any]]]:
    """Provide a function that starts a call in another thread. For each call it returns a function that waits
    for the result.

    With one worker the call is made when its result is asked for.
    """
    if workers == 1:
        yield partial
        return
    with ThreadPoolExecutor(workers) as pool:
        yield lambda function, *arguments: pool.submit(function, *arguments).result


def _measure_perturbation_effects(
    all_perturbations: PairOutcomes | None,
    pairs: PairOutcomes,
    context_columns: Sequence[PairContexts],
    settings: AnalysisSettings,
    rng: np.random.Generator,
) -> PerturbationEffects:
    """Measure how much the accuracy of each metric depends on the perturbation that made the worse outputs.
    Accuracies are averaged over contexts, unless there are too many contexts.
    """
    contexts = put_all_pairs_in_one_context(pairs)
    if context_columns and 1 < len(context_columns[0].values) <= _MOST_CONFOUNDING_CONTEXTS:
        contexts = context_columns[0]
    if all_perturbations is not None and all_perturbations is not pairs:
        output_count = 1 + max(int(pairs.outputs.max()), int(all_perturbations.outputs.max()))
        context_of_output = np.full(output_count, -1, dtype=np.int32)
        context_of_output[pairs.outputs] = contexts.codes
        codes = context_of_output[all_perturbations.outputs]
        contexts = PairContexts(contexts.column, contexts.values, codes)
        pairs, (contexts,) = sort_pairs_by_item(all_perturbations, [contexts])
    return measure_accuracy_dependence_on_perturbation(
        pairs,
        contexts,
        ties=settings.ties,
        bootstrap=settings.bootstrap,
        rng=rng,
        workers=settings.workers,
    )
