"""Sentences that compare perturbed pairs, human pairs and SPA.

The words never mix: *perturbed pairs* are an output and a perturbed output, *human pairs* are two systems'
outputs with different human scores, and SPA is about ranking systems.
"""

from __future__ import annotations

from metassay.reporting.accuracy_phrases import format_accuracy
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pair_phrases import HUMAN_PAIRS, PERTURBED_PAIRS
from metassay.reporting.wording import (
    Sentence,
    choose_percent_digits,
    format_number,
    format_percent,
    format_percent_interval,
    format_sentence,
    join_names,
    join_phrases,
    list_names,
)
from metassay.results.assay import (
    ContextHumanAgreement,
    HumanAccuracy,
    HumanChoice,
    HumanComparison,
    OrderAgreement,
)

_WHAT_EACH_MEASURES = (
    "Perturbed pairs show how well metrics detect errors in single outputs, and SPA shows how well metrics"
    " rank systems."
)


def describe_best_metric_on_human_pairs(
    comparison: HumanComparison, metric_labels: MetricLabels, ability: str
) -> Sentence:
    """Say which metric is right most often on human pairs, if the recommendation is based on them."""
    rows = _index_human_accuracies_by_metric(comparison)
    chosen = rows[comparison.by_human_pairs.metric]
    other = rows[comparison.by_perturbed_pairs.metric]
    digits = choose_percent_digits(chosen.low, chosen.high)
    ends = ""
    if chosen.low is not None:
        ends = f"; 95\u202f% interval {format_percent_interval(chosen.low, chosen.high, digits=digits)}"
    return format_sentence(
        "{best:metric} {ability} in {share:figure} of human pairs{note:note} ({human:column}{ends}), ahead of"
        " {other:metric}, the choice by perturbed pairs, with {other_share:figure}: the choice follows human"
        " pairs.{equals}",
        best=metric_labels[chosen.metric],
        ability=ability,
        share=format_percent(chosen.accuracy, digits=digits),
        note="people",
        human=comparison.human,
        ends=ends,
        other=metric_labels[other.metric],
        other_share=format_accuracy(other),
        equals=_list_tied_metrics(comparison.by_human_pairs, metric_labels, " Tied with it: {equals}."),
    )


def describe_choice_on_human_pairs(comparison: HumanComparison, metric_labels: MetricLabels) -> Sentence:
    """Say how often the metric chosen on perturbed pairs is right on human pairs."""
    rows = _index_human_accuracies_by_metric(comparison)
    best = rows[comparison.by_human_pairs.metric]
    chosen = rows[comparison.by_perturbed_pairs.metric]
    opening = format_sentence(
        "On human pairs{note:note} ({human:column})", note="people", human=comparison.human
    )
    if best.accuracy is None:
        return format_sentence("{opening} no metric has a score.", opening=opening)
    if chosen.accuracy is None:
        return format_sentence(
            "{opening} {best:metric} is right most often, in {share:figure}; {chosen:metric}, the choice by"
            " perturbed pairs, has no score there.",
            opening=opening,
            best=metric_labels[best.metric],
            share=format_accuracy(best),
            chosen=metric_labels[chosen.metric],
        )
    if metric_labels[best.metric] == metric_labels[chosen.metric]:
        return format_sentence(
            "{opening} {best:metric} is right most often, too, in {share:figure}{equals}.",
            opening=opening,
            best=metric_labels[best.metric],
            share=format_accuracy(best),
            equals=_list_tied_metrics(comparison.by_human_pairs, metric_labels, "; tied with it: {equals}"),
        )
    verdict = "no reliable difference"
    if comparison.followed:
        verdict = "that is more than chance, so the choice follows human pairs"
    return format_sentence(
        "{opening} {best:metric} is right most often, in {share:figure} against {other:figure} of"
        " {chosen:metric}, the choice by perturbed pairs: {verdict}.",
        opening=opening,
        best=metric_labels[best.metric],
        share=format_accuracy(best),
        other=format_accuracy(chosen),
        chosen=metric_labels[chosen.metric],
        verdict=verdict,
    )


def describe_human_agreement(comparison: HumanComparison, metric_labels: MetricLabels) -> list[Sentence]:
    """Say which metric ranks systems like people, and how similar the rankings of the metrics are."""
    sentences = [
        _describe_best_by_spa(comparison, metric_labels),
        _describe_rank_agreement(comparison),
        _describe_tau_by_context(comparison),
        format_sentence(_WHAT_EACH_MEASURES),
    ]
    return [each for each in sentences if each is not None]


def _describe_best_by_spa(comparison: HumanComparison, metric_labels: MetricLabels) -> Sentence | None:
    if comparison.by_spa is None:
        return None
    row = _index_human_accuracies_by_metric(comparison)[comparison.by_spa.metric]
    return format_sentence(
        "For ranking these {systems} systems {best:metric} agrees best with human scores: SPA"
        " {spa:figure}{ends}.",
        systems=comparison.systems,
        best=metric_labels[row.metric],
        spa=format_number(row.spa),
        ends=_format_interval(row.spa_low, row.spa_high, "95\u202f% interval "),
    )


def _describe_rank_agreement(comparison: HumanComparison) -> Sentence | None:
    """Say how similar the rankings of metrics on perturbed pairs and by human scores are."""
    agreement = comparison.agreement
    orders = [
        (HUMAN_PAIRS, agreement.perturbed_with_human, comparison.ceiling.pairs),
        ("SPA", agreement.perturbed_with_spa, comparison.ceiling.spa),
    ]
    defined = [order for order in orders if order[1].tau is not None]
    if not defined:
        return None
    parts = [_format_tau(name, tau, is_first=n == 0) for n, (name, tau, _) in enumerate(defined)]
    ceilings = [format_number(ceiling) for _, _, ceiling in defined if ceiling is not None]
    possible = ""
    if len(ceilings) == len(defined):
        possible = (
            f"; a second sample of human scores of this size would agree at about {join_names(ceilings)}"
        )
    return format_sentence(
        "The order of the metrics on {perturbed} agrees with that by {parts} (Kendall’s τ){possible}.",
        perturbed=PERTURBED_PAIRS,
        parts=join_phrases(parts, last=", and by "),
        possible=possible,
    )


def _format_tau(ranking_name: str, agreement: OrderAgreement, *, is_first: bool) -> Sentence:
    words = "95\u202f% interval " if is_first else ""
    return format_sentence(
        "{name} at {tau:figure}{ends}",
        name=ranking_name,
        tau=format_number(agreement.tau),
        ends=_format_interval(agreement.low, agreement.high, words),
    )


def _describe_tau_by_context(comparison: HumanComparison) -> Sentence | None:
    """Say between which values Kendall's tau lies in the contexts of each column."""
    ranges = []
    for column, rows in comparison.contexts.items():
        defined = [row for row in rows if row.tau is not None]
        if len(defined) > 1:
            ranges.append(_format_tau_range(column, defined))
    if not ranges:
        return None
    return format_sentence("On human pairs this agreement runs {ranges}.", ranges=join_phrases(ranges))


def _format_tau_range(context_column: str, agreements: list[ContextHumanAgreement]) -> Sentence:
    lowest = min(agreements, key=lambda row: row.tau or 0.0)
    highest = max(agreements, key=lambda row: row.tau or 0.0)
    return format_sentence(
        "by {column:column} from {low:figure}{low_ends} on {worst:context} to {high:figure}{high_ends} on"
        " {best:context}",
        column=context_column,
        low=format_number(lowest.tau),
        low_ends=_format_interval(lowest.low, lowest.high),
        worst=lowest.context,
        high=format_number(highest.tau),
        high_ends=_format_interval(highest.low, highest.high),
        best=highest.context,
    )


def _index_human_accuracies_by_metric(comparison: HumanComparison) -> dict[str, HumanAccuracy]:
    return {row.metric: row for row in comparison.metrics}


def _list_tied_metrics(choice: HumanChoice, metric_labels: MetricLabels, sentence_pattern: str) -> Sentence:
    """Write which metrics are tied with the chosen one, in a sentence pattern; empty if there are none."""
    own = metric_labels[choice.metric]
    others = [label for label in metric_labels.label_all(choice.top_group) if label != own]
    return (
        format_sentence(sentence_pattern, equals=list_names(others, "metric"))
        if others
        else format_sentence("")
    )


def _format_interval(low: float | None, high: float | None, prefix: str = "") -> str:
    if low is None or high is None:
        return ""
    return f" ({prefix}{format_number(low)} to {format_number(high)})"
