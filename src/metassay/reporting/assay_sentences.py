"""Sentences that belong to the JSON of an assay: reasons, confounding, warnings.

They name metrics by their specs, because readers of JSON look up metrics by spec. Pages write the same
sentences with labels.
"""

from __future__ import annotations

from statistics import fmean
from typing import TypeVar

import msgspec

from metassay.data.uninformed_scores import SYSTEM_AND_ITEM
from metassay.meta.contexts.pair_analysis import PairOutcomeAnalysis
from metassay.reporting.labels import MetricLabels
from metassay.reporting.recommendation_reasons import SPECS, ReasonWriter
from metassay.reporting.wording import format_plural, join_first_names, join_names
from metassay.results.assay import Claims, ContextStatistics, MetricConfounding
from metassay.stats.multiplicity import count_fewest_draws

_FEW_MOVABLE = 0.1  # a permutation test that moves less than this share has next to no power
_LISTED_NAMES = 5
StatisticsT = TypeVar("StatisticsT", bound=ContextStatistics)


def add_sentences_that_explain_recommendations(assay_result: StatisticsT) -> StatisticsT:
    """Return an assay result with added sentences: why each metric is recommended, and how its accuracy
    depends on the rule that made outputs worse.
    """
    recommendation = {}
    for column, entries in assay_result.recommendation.items():
        recommendation[column] = ReasonWriter(assay_result, column).add_reasons(entries)
    confounding = [
        msgspec.structs.replace(row, sentence=describe_confounding(row) if row.flag else "")
        for row in assay_result.confounding
    ]
    return msgspec.structs.replace(assay_result, recommendation=recommendation, confounding=confounding)


def describe_confounding(confounding: MetricConfounding, metric_labels: MetricLabels = SPECS) -> str:
    """Name the perturbations (rules that make outputs worse) on which the accuracy of a metric is unusually
    high or low, and give the accuracies.
    """
    responsible = []
    for name in confounding.responsible:
        accuracy = confounding.by_perturbation[name]
        if accuracy is not None:
            responsible.append(f"{100 * accuracy:.0f} % of {name} pairs")
    others = []
    for name, accuracy in confounding.by_perturbation.items():
        if name not in confounding.responsible and accuracy is not None:
            others.append(accuracy)
    compared = f", and in {100 * fmean(others):.0f} % of the others on average" if others else ""
    share = 100 * (confounding.share or 0.0)
    return (
        f"The accuracy of {metric_labels[confounding.metric]} depends on the perturbation: it is right in"
        f" {join_names(responsible)}{compared}. The perturbation explains {share:.0f} % of the variance of"
        " its outcomes."
    )


def explain_why_metric_ignores_quality(metric: str, determining_property: str) -> str:
    """Explain that a metric is not recommended because its score depends on only one property of the output,
    such as its length.
    """
    if determining_property == SYSTEM_AND_ITEM:
        reason = f"The score of {metric} is a number per system plus a number per item, as a row number is."
    else:
        reason = f"All outputs with the same {determining_property} have the same score of {metric}."
    return f"{reason} It knows nothing else about the outputs, so it is not recommended."


def explain_why_sentinel_is_not_recommended(metric: str) -> str:
    """Explain that a metric is not recommended because it has the name of a sentinel."""
    return f"{metric} is the name of a sentinel, which knows nothing of quality, so it is not recommended."


def warn_of_simulated_human_scores(human_column: str) -> str:
    """Warn that the human scores were simulated, and not given by people."""
    return f"The {human_column} scores are simulated."


def warn_that_human_scores_may_count_errors(human_column: str) -> str:
    """Warn that a human score may count errors, so that lower values are better, not higher ones."""
    return (
        f"{human_column} is never negative, and higher scores are treated as better. If it counts errors,"
        f" every human comparison is reversed: pass --lower-is-better {human_column}."
    )


def warn_of_similar_neighbouring_items(correlation: float) -> str:
    """Warn that neighbouring items are similar, so that intervals are too narrow unless a cluster column is
    named.
    """
    return (
        f"Neighbouring items are alike (correlation {correlation:.2f}), like parts of a document. If they"
        " are parts of one, name its column with --cluster; without it intervals are too narrow."
    )


def list_context_warnings(pair_analysis: PairOutcomeAnalysis) -> list[str]:
    """List warnings about the contexts, such as domains, of an assay: there are too few, they are too small,
    or they cannot be compared by a test.
    """
    warnings = []
    competing = pair_analysis.settings.competing
    for name, column in pair_analysis.columns.items():
        values = column.contexts.values
        clusters = column.estimates.clusters[competing].max(axis=0)
        items = column.estimates.accuracy_sums.count_scored_items()[competing].max(axis=0)
        if len(values) < 2:
            warnings.append(f"{name} has only one value, so there are no contexts to compare.")
        with_one_cluster = [value for value, count in zip(values, clusters) if count < 2]
        if with_one_cluster:
            warnings.append(
                f"{name}: there is no interval for contexts with a single cluster"
                f" ({join_first_names(with_one_cluster, _LISTED_NAMES)})."
            )
        minimum_items = pair_analysis.settings.minimum_items
        small = [value for value, count in zip(values, items) if count < minimum_items]
        if small:
            warnings.append(
                f"{name}: fewer than {minimum_items} items in {join_first_names(small, _LISTED_NAMES)},"
                " so nothing is claimed there."
            )
        if column.h1 is None:
            continue
        if column.is_large.sum() < 2:
            warnings.append(
                f"{name}: fewer than two contexts are large enough, so differences between them were not"
                " tested. Group contexts into larger ones, or lower --min-items."
            )
        elif not column.h1.exchanges:
            warnings.append(
                f"{name}: differences between contexts were not tested, because no two contexts have two"
                " clusters each. Choose contexts that several clusters share (a group, a site), or name"
                " smaller clusters with --cluster."
            )
        elif column.h1.exchangeable_share < _FEW_MOVABLE:
            share = f"{100 * column.h1.exchangeable_share:.0f} %"
            warnings.append(
                f"{name}: the test for differences between contexts could exchange only {share} of the"
                " outputs, so it may miss differences."
            )
    if len(competing) < 2:
        warnings.append("With a single metric there is no order of metrics to compare between contexts.")
    return warnings


def warn_of_too_few_permutations(pair_analysis: PairOutcomeAnalysis, claims: Claims) -> list[str]:
    """Warn of columns in which no difference between contexts can be significant, because even the smallest
    p-value of the permutation test is too large after correction. Such columns are one warning.
    """
    compared = sum(len(column.contexts.values) > 1 for column in pair_analysis.columns.values())
    kinds = sum(count > 0 for count in claims.tests.values())
    permutations = pair_analysis.settings.permutations
    names = []
    needed = permutations
    for name, column in pair_analysis.columns.items():
        levels = 0 if column.h1 is None else len(column.h1.exchanges)
        fewest = count_fewest_draws(levels * compared * kinds, claims.error_rate)
        if fewest > permutations:
            names.append(name)
            needed = max(needed, fewest)
    if not names:
        return []
    warning = (
        f"With {permutations} permutations, no difference in accuracy between contexts of"
        f" {join_first_names(names, _LISTED_NAMES)} can be significant, because p-values are corrected for"
        f" {format_plural(compared, 'column')} and {format_plural(kinds, 'kind')} of statements. Add"
        f" --permutations {needed}, or name fewer columns with --context."
    )
    return [warning]
