"""Sentences about a ranking of metrics against people."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.meta.people.metric_comparison import SYSTEMS_LIKE_THESE
from metassay.reporting.labels_saved_sentences import describe_labels_saved
from metassay.reporting.rank_report import RankReport
from metassay.reporting.wording import (
    choose_decimals_for_scores,
    format_count,
    format_number,
    format_plural,
    join_names,
    list_names,
)
from metassay.results.rank import RankedMetric, Ranking
from metassay.results.verdict import Claim
from metassay.stats.levels import SIGNIFICANCE_LEVEL

LABELS_SAVED = "labels_saved"
SPA = "spa"


def list_main_findings_on_metric_ranking(rank_report: RankReport) -> list[Claim]:
    """Write the main statements of a `rank` report: which metric agrees best with people, and where another
    metric is better.
    """
    claims = []
    for ranking in rank_report.result.global_rankings:
        claims.append(_build_best_metric_claim(ranking, rank_report))
        if ranking.is_global:
            claims += _build_claims_about_contexts(ranking, rank_report)
    return claims


def _build_best_metric_claim(ranking: Ranking, rank_report: RankReport) -> Claim:
    sentence = describe_best_metric(ranking, rank_report)
    if not ranking.defined_metrics or ranking.is_too_small:
        return Claim(kind="unanswered", scope=ranking.dataset, sentence=sentence)
    best = find_best_metric(ranking)
    if not _is_shown_to_beat_constant_score(ranking, best):
        return Claim(kind="unanswered", scope=ranking.dataset, sentence=sentence)
    return Claim(
        kind="answer",
        question="rank_systems" if ranking.meta_metric == SPA else None,
        scope=ranking.dataset,
        metrics=[best.metric, *_find_tied_metrics(ranking, best)],
        value=best.value,
        low=best.low,
        high=best.high,
        sentence=sentence,
    )


def _is_shown_to_beat_constant_score(ranking: Ranking, ranked_metric: RankedMetric) -> bool:
    """Return whether a metric is shown to agree better with people than a metric that gives all outputs the
    same score: its interval, or without one its value, lies above that of the constant.
    """
    if ranking.meta_metric == LABELS_SAVED:  # has a test and a sentence of its own
        return True
    constant = ranking.constant_value
    lower_end = ranked_metric.value if ranked_metric.low is None else ranked_metric.low
    return constant is None or lower_end is None or lower_end > constant


def _find_tied_metrics(ranking: Ranking, best_metric: RankedMetric) -> list[str]:
    """Find the metrics that no test shows to be worse than the best metric."""
    behind = {best_metric.metric}
    for comparison in ranking.comparisons:
        if comparison.better == best_metric.metric and comparison.p <= SIGNIFICANCE_LEVEL:
            behind.add(comparison.worse)
    return [metric.metric for metric in ranking.defined_metrics if metric.metric not in behind]


def describe_best_metric(ranking: Ranking, rank_report: RankReport) -> str:
    """Say which metric agrees best with people, and which metrics are tied with it."""
    human = rank_report.result.human
    scope = rank_report.name_dataset_and_context(ranking)
    metrics = ranking.defined_metrics
    if not metrics:
        if any(metric.uninformed and metric.value is not None for metric in ranking.metrics):
            meta_metric = get_meta_metric_label(ranking.meta_metric)
            return f"No metric is named best by {meta_metric} on {scope}: none of them rates single outputs."
        return (
            f"No metric has a defined {get_meta_metric_label(ranking.meta_metric)} with {human} on {scope}."
        )
    best = find_best_metric(ranking)
    if ranking.is_too_small:
        size = f"{format_plural(ranking.systems, 'system')} and {format_plural(ranking.items, 'item')}"
        return (
            f"{rank_report.labels[best.metric]} has the highest value on {scope},"
            f" {format_metric_value(ranking, best)} "
            f"with {human}, but {size} are too few to name a best metric."
        )
    if not _is_shown_to_beat_constant_score(ranking, best):
        return _compare_best_metric_with_constant_score(ranking, rank_report, best)
    rivals = [metric.metric for metric in metrics if metric is not best]
    undecided = _find_tied_metrics(ranking, best)
    if ranking.meta_metric == LABELS_SAVED:
        return describe_labels_saved(ranking, rank_report, undecided if ranking.comparisons else [])
    systems = "this system" if ranking.systems == 1 else f"these {format_plural(ranking.systems, 'system')}"
    if len({other.dataset for other in rank_report.result.rankings}) > 1 or not ranking.is_global:
        systems += f" of {scope}"
    opening = (
        f"{rank_report.labels[best.metric]} agrees best with people ({human}) on {systems}:"
        f" {format_metric_value(ranking, best)}"
    )
    return opening + _describe_tests_against_other_metrics(ranking, rank_report, rivals, undecided)


def _compare_best_metric_with_constant_score(
    ranking: Ranking, rank_report: RankReport, best_metric: RankedMetric
) -> str:
    """Say that no metric is shown to be better than a constant score, with the values of both."""
    human = rank_report.result.human
    scope = rank_report.name_dataset_and_context(ranking)
    label = rank_report.labels[best_metric.metric]
    value = format_metric_value(ranking, best_metric)
    constant = _format_ranking_value(ranking, ranking.constant_value)
    has_others = any(metric.uninformed for metric in ranking.metrics)
    no_metric = "No metric that rates single outputs" if has_others else "No metric"
    if (best_metric.value or 0.0) > (ranking.constant_value or 0.0):
        return (
            f"{no_metric} is named best on {scope}: {label} has the highest {value} with {human}, but is not"
            f" shown to be better than a constant score, which has {constant}."
        )
    return (
        f"{no_metric} agrees with people ({human}) better than a constant score on {scope}: {label} is"
        f" highest with {value}; a constant has {constant}."
    )


def _describe_tests_against_other_metrics(
    ranking: Ranking, rank_report: RankReport, other_metrics: list[str], tied_metrics: list[str]
) -> str:
    """Write the end of a sentence about the best metric: whether it is significantly better than the
    others.
    """
    if not other_metrics:
        metrics = [metric for metric in ranking.metrics if not metric.baseline]
        return ". It is the only metric." if len(metrics) == 1 else ". No other metric can be named best."
    if not ranking.comparisons:
        return ". Whether it is ahead of the others was not tested."
    population = f" for {SYSTEMS_LIKE_THESE}" if ranking.answers_for == SYSTEMS_LIKE_THESE else ""
    if tied_metrics:
        names = list_names(rank_report.labels.list_labels_of_metrics(tied_metrics), "")
        verb = "is" if len(tied_metrics) == 1 else "are"
        return f". {names} {verb} tied with it{population}."
    others = (
        f"all {len(other_metrics)} others"
        if len(other_metrics) > 2
        else join_names(rank_report.labels.list_labels_of_metrics(other_metrics))
    )
    return f", ahead of {others}{population} (one-sided p ≤ .05 for each)."


def find_best_metric(ranking: Ranking) -> RankedMetric:
    """Find the metric with the highest value in a ranking. At least one metric must have a value."""
    return max(ranking.defined_metrics, key=lambda metric: metric.value or 0.0)


def _build_claims_about_contexts(ranking: Ranking, rank_report: RankReport) -> list[Claim]:
    """Say for each column of contexts, such as the domain, whether another metric is better for some values,
    and what it costs to use the overall best metric everywhere.

    A metric counts as shown to be better there if the test of the context says so with p ≤ .05 divided by the
    number of contexts.
    """
    if not ranking.defined_metrics or ranking.is_too_small:
        return []
    best = find_best_metric(ranking).metric
    if not _is_shown_to_beat_constant_score(ranking, find_best_metric(ranking)):
        return []
    claims = []
    for column, contexts in _group_rankings_by_context_column(ranking, rank_report).items():
        winners = {context.context: find_best_metric(context).metric for context in contexts}
        others = {context: winner for context, winner in winners.items() if winner != best}
        level = SIGNIFICANCE_LEVEL / len(contexts)
        shown = []
        for context in contexts:
            winner = winners[context.context]
            if winner != best and _is_significantly_better(context, winner, best, level):
                shown.append(f"{rank_report.labels[winner]} on {context.context}")
        if not others:
            highest = (
                f"{rank_report.labels[best]} has the highest {get_meta_metric_label(ranking.meta_metric)}"
            )
            sentence = f"{highest} in every {column} with enough data, too."
            claims.append(Claim(kind="finding", scope=ranking.dataset, context=column, sentence=sentence))
            continue
        claims.append(_build_context_cost_claim(ranking, rank_report, column, others))
        if shown:
            sentence = f"These are shown to be better than {rank_report.labels[best]}: {join_names(shown)}."
            claims.append(Claim(kind="finding", scope=ranking.dataset, context=column, sentence=sentence))
    return claims


def _build_context_cost_claim(
    ranking: Ranking, rank_report: RankReport, context_column: str, best_metrics_by_context: dict[str, str]
) -> Claim:
    """Say how much is lost by using the overall best metric in every context, such as each domain. If this is
    unknown, name the best metrics of the contexts.
    """
    best = find_best_metric(ranking).metric
    label = rank_report.labels[best]
    meta_metric = get_meta_metric_label(ranking.meta_metric)
    for cost in rank_report.result.context_costs:
        is_same_ranking = (cost.dataset, cost.meta_metric) == (ranking.dataset, ranking.meta_metric)
        if is_same_ranking and cost.column == context_column:
            ends = f"{format_number(cost.low)}–{format_number(cost.high)}"
            return Claim(
                kind="regret",
                scope=ranking.dataset,
                context=context_column,
                metrics=[best],
                value=cost.value,
                low=cost.low,
                high=cost.high,
                sentence=(
                    f"By {context_column} the winner changes; using {label} everywhere costs"
                    f" {format_number(cost.value)} of {meta_metric} (95 % interval {ends})."
                ),
            )
    listed = join_names(
        [f"{rank_report.labels[winner]} on {context}" for context, winner in best_metrics_by_context.items()]
    )
    sentence = f"By {context_column}, other metrics have the highest {meta_metric}: {listed}."
    return Claim(kind="finding", scope=ranking.dataset, context=context_column, sentence=sentence)


def _group_rankings_by_context_column(ranking: Ranking, rank_report: RankReport) -> dict[str, list[Ranking]]:
    """Group the rankings within contexts by column, such as the domain. Only rankings with the data set and
    measure of a given ranking are used.
    """
    by_column: dict[str, list[Ranking]] = {}
    for context in rank_report.result.rankings:
        if context.context_column is None or context.is_too_small or not context.defined_metrics:
            continue
        if (context.dataset, context.meta_metric) == (ranking.dataset, ranking.meta_metric):
            by_column.setdefault(context.context_column, []).append(context)
    return by_column


def _is_significantly_better(
    ranking: Ranking, better_metric: str, worse_metric: str, significance_level: float
) -> bool:
    return any(
        (comparison.better, comparison.worse) == (better_metric, worse_metric)
        and comparison.p <= significance_level
        for comparison in ranking.comparisons
    )


def describe_significant_comparisons(ranking: Ranking) -> str:
    """Say how many comparisons of two metrics are significant, for these systems and for systems like
    them.
    """
    comparisons = ranking.comparisons
    has_both_tests = any(comparison.p_systems is not None for comparison in comparisons)
    if has_both_tests:
        for_these = _count_significant_p_values([comparison.p_inputs for comparison in comparisons])
        for_others = _count_significant_p_values([comparison.p_systems for comparison in comparisons])
        population = f" for these systems, {format_count(for_others)} for {SYSTEMS_LIKE_THESE}"
    else:
        for_these = _count_significant_p_values([comparison.p for comparison in comparisons])
        population = f" for {ranking.answers_for}" if ranking.answers_for else ""
    verb = "is" if for_these == 1 or len(comparisons) == 1 else "are"
    total = format_plural(len(comparisons), "comparison")
    significant = f"{format_count(for_these)} of {total} {verb} significant{population}"
    return f"{significant} (one-sided p ≤ .05, not corrected for their number)."


def _count_significant_p_values(p_values: list[float | None]) -> int:
    return sum(p is not None and p <= SIGNIFICANCE_LEVEL for p in p_values)


def list_reasons_to_doubt_ranking(ranking: Ranking, rank_report: RankReport) -> list[str]:
    """List reasons to doubt a ranking of metrics, for example a baseline that is as good as the best
    metric.
    """
    scope = rank_report.name_dataset_and_context(ranking)
    doubts = []
    values = [metric.value for metric in ranking.defined_metrics if metric.value is not None]
    baselines = [metric for metric in ranking.metrics if metric.baseline and metric.value is not None]
    for baseline in baselines:
        is_in_headline = baseline.value == ranking.constant_value
        if values and baseline.value is not None and baseline.value >= max(values) and not is_in_headline:
            doubt = (
                f"{scope}: the baseline {baseline.metric}, which knows nothing of quality, has "
                f"{format_metric_value(ranking, baseline)}, as much as the best metric."
            )
            doubts.append(doubt)
    if ranking.dropped_items:
        verb = "was" if ranking.dropped_items == 1 else "were"
        dropped = format_plural(ranking.dropped_items, "item")
        doubts.append(f"{scope}: {dropped} without all scores {verb} left out.")
    return doubts


def format_metric_value(ranking: Ranking, metric: RankedMetric) -> str:
    """Write the value of a metric with its interval: `SPA 0.95 (95 % interval 0.91–0.97)`."""
    value = f"{get_meta_metric_label(ranking.meta_metric)} {_format_ranking_value(ranking, metric.value)}"
    if metric.low is None or metric.high is None:
        return value
    ends = f"{_format_ranking_value(ranking, metric.low)}–{_format_ranking_value(ranking, metric.high)}"
    return f"{value} (95 % interval {ends})"


def _format_ranking_value(ranking: Ranking, value: float | None) -> str:
    """Write a value of a ranking with as many decimals as the widths of its intervals justify."""
    return format_number(value, digits=choose_decimals_for_ranking_values(ranking))


def choose_decimals_for_ranking_values(ranking: Ranking) -> int:
    """Choose the number of decimals for the values in a ranking of metrics. Baselines do not influence it."""
    metrics = [metric for metric in ranking.metrics if not metric.baseline]
    return choose_decimals_for_scores((metric.low, metric.high) for metric in metrics)
