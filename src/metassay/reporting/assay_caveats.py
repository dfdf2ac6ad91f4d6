"""What a careful reader must know before using the answer of an assay, and further remarks."""

from __future__ import annotations

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.assay_sentences import (
    warn_of_simulated_human_scores,
    warn_that_human_scores_may_count_errors,
)
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.prior_evidence import get_published_spa_of_neural_metric
from metassay.reporting.wording import (
    Sentence,
    find_installed_task,
    format_accuracy,
    format_count,
    format_number,
    format_percent,
    format_plural,
    format_sentence,
    join_names,
    list_names,
)
from metassay.results.assay import MetricAccuracy, PerturbationStatistics
from metassay.stats.levels import COIN_ACCURACY

_LISTED_NAMES = 5


def list_reasons_to_doubt_recommendation(assay_report: AssayReport) -> list[Sentence]:
    """List the reasons to doubt the metric that an assay recommends, for example wrong labels or missing
    scores.
    """
    best = assay_report.best_metric
    if best is None:
        return []
    caveats = [
        _warn_of_equally_good_baseline(assay_report, best),
        _warn_if_no_metric_beats_chance(assay_report),
        _warn_if_neural_metrics_rank_systems_better(assay_report),
        _warn_if_accuracy_varies_by_perturbation(assay_report, best),
        _warn_of_single_metric(assay_report),
        *_warn_if_perturbed_rankings_are_not_worse(assay_report),
        _warn_of_unused_perturbations(assay_report),
        *_warn_of_missing_scores(assay_report, best),
    ]
    return [caveat for caveat in caveats if caveat is not None]


def list_caveats_except_main_one(assay_report: AssayReport) -> list[str | Sentence]:
    """List the warnings about an assay result. The most important one is left out, because the sentences at
    the top of the report already contain it.
    """
    main_caveat = choose_main_caveat(assay_report)
    doubts: list[str | Sentence] = [
        *list_reasons_to_doubt_recommendation(assay_report),
        *dict.fromkeys(assay_report.result.warnings),
    ]
    return [doubt for doubt in doubts if str(doubt) != main_caveat]


def choose_main_caveat(assay_report: AssayReport) -> str | None:
    """Choose the most important warning about an assay result. Warnings that could make the recommendation
    wrong are preferred.
    """
    best = assay_report.best_metric
    if best is None:
        return None
    candidates = [
        _warn_if_pair_selection_favours_ndcg(assay_report),
        *_list_human_score_warnings(assay_report),
        *list_reasons_to_doubt_recommendation(assay_report),
        *assay_report.result.warnings,
    ]
    return next((str(candidate) for candidate in candidates if candidate is not None), None)


def _list_human_score_warnings(assay_report: AssayReport) -> list[str]:
    """List the warnings that the human score may be simulated, or that it may count errors."""
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return []
    human_score_warnings = (
        warn_of_simulated_human_scores(comparison.human),
        warn_that_human_scores_may_count_errors(comparison.human),
    )
    return [warning for warning in assay_report.result.warnings if warning in human_score_warnings]


def _warn_if_no_metric_beats_chance(assay_report: AssayReport) -> Sentence | None:
    """Warn if no metric is shown to choose between two outputs better than a coin, or to rank systems better
    than a constant score.
    """
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return None
    rows = {row.metric: row for row in comparison.metrics}
    by_pairs = rows[comparison.by_human_pairs.metric]
    if by_pairs.low is not None and by_pairs.low <= COIN_ACCURACY:
        return format_sentence("No metric is shown to choose between two outputs better than a coin.")
    by_spa = None if comparison.by_spa is None else rows[comparison.by_spa.metric]
    if by_spa is None or by_spa.spa_low is None or comparison.spa_constant is None:
        return None
    is_in_verdict = by_spa.spa is not None and by_spa.spa <= comparison.spa_constant
    if by_spa.spa_low <= comparison.spa_constant and not is_in_verdict:
        return format_sentence("No metric is shown to rank systems better than a constant score would.")
    return None


def _warn_if_neural_metrics_rank_systems_better(assay_report: AssayReport) -> Sentence | None:
    """Warn if every metric ranks these systems less like people than a well-known neural metric ranked those
    of WMT23: the intervals of all metrics lie below the published value.
    """
    comparison = assay_report.result.human_comparison
    task = find_installed_task(assay_report.result.task)
    if comparison is None or comparison.by_spa is None or task is None or not task.has_prior_evidence:
        return None
    ranked = [row for row in comparison.metrics if row.spa is not None]
    upper_ends = [row.spa_high for row in ranked if row.spa_high is not None]
    published = get_published_spa_of_neural_metric()
    is_assayed = any(published.name.lower() in metric.lower() for metric in assay_report.metrics)
    # Without an interval, a metric may rank systems better than its value says.
    if not upper_ends or len(upper_ends) < len(ranked) or is_assayed:
        return None
    highest_spa = max(upper_ends)
    if highest_spa >= published.neural:
        return None
    # Published values are not comparable with those for simulated human scores or error counts.
    if _list_human_score_warnings(assay_report):
        return None
    return format_sentence(
        "No metric here ranks systems as well (SPA at most {highest:figure}) as the neural metric"
        " {name:metric} did on WMT23 ({neural:figure}; chrF had {lexical:figure}).",
        highest=format_number(highest_spa),
        name=published.name,
        neural=format_number(published.neural),
        lexical=format_number(published.lexical),
    )


def list_remarks_on_data(assay_report: AssayReport) -> list[str]:
    """List remarks about the data of an assay, followed by the notes of the run."""
    return [*describe_data_used(assay_report.result.data), *list_notes_of_run(assay_report)]


def list_notes_of_run(assay_report: AssayReport) -> list[str]:
    """List remarks on a run: which metrics made the same decision on every pair of outputs, and the notes of
    the run without those that are also warnings.
    """
    remarks = []
    groups = assay_report.result.same_decisions
    if groups:
        single_labels = assay_report.labels.single_labels
        listed = "; ".join(join_names([single_labels.get(spec, spec) for spec in group]) for group in groups)
        remarks.append(f"These metrics decided every pair alike and are shown on one line: {listed}.")
    warnings = set(assay_report.result.warnings)
    remarks += [note for note in dict.fromkeys(assay_report.result.notes) if note not in warnings]
    return remarks


def find_equally_good_baseline(assay_report: AssayReport, best_metric: MetricAccuracy) -> str | None:
    """Find a baseline that ignores quality but prefers the better output as often as the best metric. None if
    there is no such baseline.
    """
    for metric in sorted(
        assay_report.metrics_that_ignore_quality, key=lambda metric: assay_report.labels[metric]
    ):
        row = assay_report.overall_accuracy_by_metric[metric]
        if (
            metric != best_metric.metric
            and row.accuracy is not None
            and row.accuracy >= (best_metric.accuracy or 0.0)
        ):
            return metric
    return None


def _warn_of_equally_good_baseline(assay_report: AssayReport, best_metric: MetricAccuracy) -> Sentence | None:
    sentinel = find_equally_good_baseline(assay_report, best_metric)
    if sentinel is None:
        return None
    return format_sentence(
        "{sentinel:metric}, which knows nothing of quality, is right in {share:figure}: the pairs"
        " give themselves away, and no accuracy here should be trusted.",
        sentinel=assay_report.labels[sentinel],
        share=format_accuracy(assay_report.overall_accuracy_by_metric[sentinel]),
    )


def _warn_if_accuracy_varies_by_perturbation(
    assay_report: AssayReport, best_metric: MetricAccuracy
) -> Sentence | None:
    claimed = [claim.metric for claim in assay_report.result.claims.perturbation_dependences]
    # A stable sort: the best metric comes first, the others keep their order.
    metrics = sorted(claimed, key=lambda metric: metric != best_metric.metric)
    if not metrics:
        return None
    return format_sentence(
        "The accuracy of {metrics} depends on how the worse outputs were made:"
        " see {section:link perturbations}.",
        metrics=list_names(assay_report.labels.list_labels_of_metrics(metrics), "metric"),
        section="accuracy by perturbation",
    )


def _warn_of_single_metric(assay_report: AssayReport) -> Sentence | None:
    if len(assay_report.metrics) > 1:
        return None
    return format_sentence("Only one metric was assayed: a choice needs at least two.")


def _warn_if_perturbed_rankings_are_not_worse(assay_report: AssayReport) -> list[Sentence]:
    """Warn if rankings of documents often did not become worse when they were reordered, and say whether such
    pairs were dropped.
    """
    rows = [row for row in assay_report.result.perturbation_statistics if row.worse is not None]
    total = sum((row.worse or 0) + (row.equal or 0) + (row.better or 0) for row in rows)
    wrong = total - sum(row.worse or 0 for row in rows)
    if not wrong:
        return []
    dropped = assay_report.result.valid_pairs_only
    consequence = "they were dropped" if dropped else "errors on them are not errors of the metrics"
    caveats = [
        format_sentence(
            "{share:figure} of the reordered lists did not lose gain, so their labels are wrong:"
            " {consequence}.",
            share=format_percent(wrong / total, digits=1),
            consequence=consequence,
        )
    ]
    circular = _warn_if_pair_selection_favours_ndcg(assay_report)
    if circular is not None:
        caveats.append(circular)
    caveats += [_explain_why_perturbation_was_rejected(row) for row in rows if row.refused]
    return caveats


def _warn_if_pair_selection_favours_ndcg(assay_report: AssayReport) -> Sentence | None:
    """Warn that nDCG is favoured if a similar formula decided which of two rankings is worse."""
    if not assay_report.result.valid_pairs_only:
        return None
    circular = [
        assay_report.labels[metric] for metric in assay_report.metrics if metric.lower().startswith("ndcg")
    ]
    if not circular:
        return None
    pattern = "Discounted gain decided which lists are worse; {names} measures just that, so it is favoured."
    if len(circular) > 1:
        pattern = (
            "Discounted gain decided which lists are worse; {names} measure just that, so they are favoured."
        )
    return format_sentence(pattern, names=list_names(circular, "metric"))


def _explain_why_perturbation_was_rejected(perturbation_statistics: PerturbationStatistics) -> Sentence:
    return format_sentence(
        "{perturbation} was refused: it improved rankings as often as not ({better} gained, {worse} lost).",
        perturbation=perturbation_statistics.perturbation,
        better=format_count(perturbation_statistics.better),
        worse=format_count(perturbation_statistics.worse),
    )


def _warn_of_unused_perturbations(assay_report: AssayReport) -> Sentence | None:
    """Name the perturbations (rules that make outputs worse) that could not be applied to any output, for
    example because a dictionary is missing.
    """
    rows = assay_report.result.perturbation_statistics
    # Refused perturbations have a caveat of their own.
    unused = [row.perturbation for row in rows if not row.applied and not row.refused]
    if not unused:
        return None
    return format_sentence(
        "{unused} of {all} did not apply here ({names}): no metric was tried on their errors.",
        unused=format_count(len(unused)),
        all=format_plural(len(rows), "perturbation"),
        names=list_names(unused, "", at_most=_LISTED_NAMES),
    )


def _warn_of_missing_scores(assay_report: AssayReport, best_metric: MetricAccuracy) -> list[Sentence]:
    """Name the contexts, such as domains, in which the best metric has no score for any pair."""
    caveats = []
    for column in assay_report.context_columns:
        scored = {row.context for row in column.list_accuracies_per_context(best_metric.metric)}
        missing = [context for context in column.contexts if context not in scored]
        if missing:
            caveats.append(
                format_sentence(
                    "{metric:metric} scored no pair on {contexts}.",
                    metric=assay_report.labels[best_metric.metric],
                    contexts=list_names(missing, "context", at_most=_LISTED_NAMES),
                )
            )
    return caveats
