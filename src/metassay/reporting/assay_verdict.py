"""The verdict of an assay: which metric to use, which not, for which purpose, and the main caveat."""

from __future__ import annotations

from metassay.reporting.assay_caveats import choose_main_caveat, find_equally_good_baseline
from metassay.reporting.assay_report import AssayReport
from metassay.reporting.labels_saved_sentences import RATED_ITEMS, describe_equivalent_items
from metassay.reporting.prior_evidence import (
    NEURAL_METRICS,
    describe_loss_to_best_metric,
    describe_neural_metrics,
)
from metassay.reporting.verdict_lines import describe_purpose_of_question, get_output_noun
from metassay.reporting.wording import (
    HUMAN_PAIRS,
    find_installed_task,
    format_accuracy,
    format_count,
    format_number,
    format_plural,
    join_names,
)
from metassay.results.assay import HumanAccuracy, HumanComparison, MetricAccuracy
from metassay.results.base import Interval
from metassay.results.data_summary import HUMAN_SCORE
from metassay.results.verdict import Claim, Question
from metassay.stats.levels import COIN_ACCURACY, SIGNIFICANCE_LEVEL

# Smaller losses of accuracy would be written as 0.0 points.
_SMALLEST_SHOWN_LOSS = 0.0005
_MOST_NAMED = 3
_ARTICLES = {"The", "No", "Only", "Discounted"}
# Which question the pairs of an assay answer, by their origin; pairs of the user answer another one.
_PAIR_QUESTIONS: dict[str, Question] = {
    "rule": "detect_errors",
    "model": "detect_errors",
    "people": "choose_outputs",
}


def list_main_findings_of_assay(assay_report: AssayReport) -> list[Claim]:
    """Write the main statements of an assay report: which metric to use, for which purpose, and why."""
    best = assay_report.best_metric
    if best is None and all(row.accuracy is None for row in assay_report.overall_accuracy_by_metric.values()):
        return [Claim(kind="none", sentence="No metric can be recommended: no pair could be scored.")]
    if best is None:
        sentence = "No metric can be recommended: none of them rates single outputs."
        return [Claim(kind="none", sentence=sentence), _describe_data_size(assay_report)]
    answers = [
        _describe_best_metric_on_assay_pairs(assay_report, best),
        _describe_best_metric_on_human_pairs(assay_report),
        _describe_best_metric_for_ranking_systems(assay_report),
        _describe_metric_that_saves_most_human_labels(assay_report),
    ]
    recommendation = _describe_metrics_to_use(assay_report, best)
    claims = [
        recommendation,
        *_recommend_other_metrics_by_purpose(assay_report, recommendation, answers),
        _describe_metrics_to_avoid(assay_report),
        _describe_data_size(assay_report),
        *answers,
        *_describe_published_results_of_metrics(assay_report, best),
        _suggest_collecting_human_ratings(assay_report),
        _describe_accuracy_lost_by_single_metric(assay_report, best),
        _describe_main_caveat(assay_report),
    ]
    return [claim for claim in claims if claim is not None]


def _describe_metrics_to_use(assay_report: AssayReport, best_metric: MetricAccuracy) -> Claim:
    """Say which metrics to use, or that none is better than a baseline that ignores quality."""
    sentinel = find_equally_good_baseline(assay_report, best_metric)
    if sentinel is not None:
        return Claim(
            kind="none",
            metrics=[sentinel],
            sentence=(
                f"No metric can be recommended: {assay_report.labels[sentinel]}, which knows nothing"
                " of quality, is right as often as the best of them."
            ),
        )
    answer = assay_report.result.answer
    # The top group may contain the best metric too, so that duplicates are removed below.
    group = [best_metric.metric] if answer is None else [best_metric.metric, *answer.top_group]
    names = assay_report.labels.list_labels_of_metrics(group)
    purpose = _write_recommendation_purpose(assay_report)
    opening = f"{purpose}, use" if purpose else "Use"
    sentence = f"{opening} {names[0]}."
    if len(names) > 1:
        sentence = f"{opening} {_join_metric_labels_with_or(names)}: no reliable difference."
    p_values = [lead.p for lead in assay_report.result.claims.leads if lead.column is None]
    return Claim(
        kind="use",
        metrics=list(dict.fromkeys(group)),
        # The sentence separates the top group from all other metrics, and is as uncertain as the weakest
        # comparison.
        p=max(p_values, default=None),
        sentence=sentence,
    )


def _recommend_other_metrics_by_purpose(
    assay_report: AssayReport, recommendation: Claim, answers_to_questions: list[Claim | None]
) -> list[Claim]:
    """Recommend another metric for each purpose, such as ranking systems, for which the overall recommended
    metric is not among the best.
    """
    claims = []
    for answer in answers_to_questions:
        if recommendation.kind != "use" or answer is None or answer.question is None:
            continue
        # The recommendation names this metric first.
        if answer.kind != "answer" or recommendation.metrics[0] in answer.metrics:
            continue
        winner = answer.metrics[0]
        purpose = describe_purpose_of_question(answer.question, assay_report.result.task)
        claims.append(
            Claim(
                kind="use",
                question=answer.question,
                metrics=[winner],
                p=answer.p,
                sentence=f"To {purpose}, use {assay_report.labels[winner]} instead.",
            )
        )
    return claims


def _write_recommendation_purpose(assay_report: AssayReport) -> str:
    """Write for which purpose a metric is recommended. It is empty if the recommendation is not limited to
    one purpose.
    """
    result = assay_report.result
    # Without human scores, artificial errors show only how well a metric detects errors.
    is_limited = result.human_comparison is None and result.pairs_from in {"rule", "model"}
    return f"To detect errors in single {get_output_noun(result.task)}" if is_limited else ""


def _join_metric_labels_with_or(metric_labels: list[str]) -> str:
    if len(metric_labels) > _MOST_NAMED:
        return f"{metric_labels[0]} or one of {len(metric_labels) - 1} others"
    return f"{', '.join(metric_labels[:-1])} or {metric_labels[-1]}"


def _describe_metrics_to_avoid(assay_report: AssayReport) -> Claim | None:
    """Name the metrics to avoid, because they are shown to detect fewer errors and to agree less with people
    than others.
    """
    claims = assay_report.result.claims
    p_perturbed = {lead.worse: lead.p for lead in claims.leads if lead.column is None}
    p_human = {lead.worse: lead.p for lead in claims.human_leads}
    answer = assay_report.result.answer
    usable = [] if answer is None else [answer.metric, *answer.top_group]
    comparison = assay_report.result.human_comparison
    if comparison is not None:
        best_choices = (comparison.by_spa, comparison.by_labels_saved)
        usable += [choice.metric for choice in best_choices if choice is not None]
    behind = [metric for metric in assay_report.metrics if metric in p_perturbed and metric in p_human]
    # A metric that is best for any question is not named as one to avoid.
    behind = [metric for metric in behind if metric not in usable]
    if not behind:
        return None
    names = assay_report.labels.list_labels_of_metrics(behind)
    reason = "they detect fewer errors and agree less with people"
    if len(names) == 1:
        reason = "it detects fewer errors and agrees less with people"
    return Claim(
        kind="avoid",
        metrics=behind,
        # The claim needs both differences for every metric, so its p-value is the largest.
        p=max(max(p_perturbed[metric], p_human[metric]) for metric in behind),
        sentence=f"Avoid {join_names(names)}: {reason}.",
    )


def _describe_data_size(assay_report: AssayReport) -> Claim:
    result = assay_report.result
    systems = "" if result.data is None else f", {format_plural(len(result.data.systems), 'system')}"
    comparison = result.human_comparison
    human = "no human scores"
    if comparison is not None:
        human = f"human score {comparison.human}"
    elif result.pairs_from == "people":
        human = "pairs by human score"
    elif _has_human_scores(assay_report):
        human = "human scores not used"
    outputs = f"{format_count(result.outputs)} {get_output_noun(result.task)}"
    return Claim(kind="data", sentence=f"{outputs}{systems}, {format_plural(result.items, 'item')}, {human}.")


def _describe_best_metric_on_assay_pairs(assay_report: AssayReport, best_metric: MetricAccuracy) -> Claim:
    """Say which metric most often prefers the better of two outputs."""
    comparison = assay_report.result.human_comparison
    row = best_metric
    if comparison is not None:
        row = assay_report.overall_accuracy_by_metric[comparison.by_perturbed_pairs.metric]
    question = _PAIR_QUESTIONS.get(assay_report.result.pairs_from, "prefer_better")
    tied = _find_tied_metrics(assay_report, row.metric)
    return _describe_accuracy_of_best_metric(assay_report, question, row, tied, assay_report.kind_of_pairs)


def _find_tied_metrics(assay_report: AssayReport, metric: str) -> list[str]:
    """Find the metrics that are not shown to be less accurate than a given metric over all outputs."""
    answer = assay_report.result.answer
    if answer is not None and answer.metric == metric:
        return [other for other in answer.top_group if other != metric]
    behind = {lead.worse for lead in assay_report.result.claims.leads if lead.column is None}
    tied = []
    for other in assay_report.metrics:
        is_scored = assay_report.overall_accuracy_by_metric[other].accuracy is not None
        if (
            is_scored
            and other not in {metric, *behind}
            and other not in assay_report.metrics_that_ignore_quality
        ):
            tied.append(other)
    return tied


def _describe_accuracy_of_best_metric(
    assay_report: AssayReport,
    question: Question,
    accuracy: MetricAccuracy | HumanAccuracy,
    tied_metrics: list[str],
    kind_of_pairs: str,
) -> Claim:
    """Write the statement that a metric prefers the better of two outputs most often, with its accuracy and
    the metrics tied with it.
    """
    label = assay_report.labels[accuracy.metric]
    return Claim(
        kind="answer",
        question=question,
        metrics=list(dict.fromkeys([accuracy.metric, *tied_metrics])),
        value=accuracy.accuracy,
        low=accuracy.low,
        high=accuracy.high,
        baseline=COIN_ACCURACY,
        sentence=f"{label} is right in {format_accuracy(accuracy)} of {kind_of_pairs}; a coin in 50\u202f%.",
    )


def _describe_best_metric_on_human_pairs(assay_report: AssayReport) -> Claim | None:
    """Say which metric best chooses between two outputs as people do. None if the assay itself compares
    metrics with people.
    """
    if assay_report.result.pairs_from == "people":
        return None
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return _explain_missing_human_comparison(
            assay_report, "choose_outputs", "chooses between two outputs"
        )
    rows = {row.metric: row for row in comparison.metrics}
    row = rows[comparison.by_human_pairs.metric]
    if row.accuracy is None:
        return _explain_why_question_is_unanswered(
            "choose_outputs", "chooses between two outputs", "no human pair was scored"
        )
    top_group = comparison.by_human_pairs.top_group
    return _describe_accuracy_of_best_metric(assay_report, "choose_outputs", row, top_group, HUMAN_PAIRS)


def _describe_best_metric_for_ranking_systems(assay_report: AssayReport) -> Claim:
    """Say which metric ranks systems most like people do, by soft pairwise accuracy (SPA)."""
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return _explain_missing_human_comparison(assay_report, "rank_systems", "ranks systems")
    rows = {row.metric: row for row in comparison.metrics}
    row = None if comparison.by_spa is None else rows[comparison.by_spa.metric]
    if row is None or row.spa is None:
        reason = "it needs human scores of several systems on the same items"
        return _explain_why_question_is_unanswered("rank_systems", "ranks systems", reason)
    if comparison.spa_constant is not None and row.spa <= comparison.spa_constant:
        return Claim(
            kind="unanswered",
            question="rank_systems",
            value=row.spa,
            baseline=comparison.spa_constant,
            sentence=(
                f"No metric ranks these systems better than a constant score: the highest SPA is"
                f" {format_number(row.spa)} ({assay_report.labels[row.metric]}), a constant has"
                f" {format_number(comparison.spa_constant)}."
            ),
        )
    ends = ""
    if row.spa_low is not None:
        ends = f" ({format_number(row.spa_low)} to {format_number(row.spa_high)})"
    constant = ""
    if comparison.spa_constant is not None:
        constant = f"; a constant has {format_number(comparison.spa_constant)}, a perfect metric 1"
    return Claim(
        kind="answer",
        question="rank_systems",
        metrics=[row.metric, *_find_metrics_tied_by_spa(assay_report, comparison, row.metric)],
        value=row.spa,
        low=row.spa_low,
        high=row.spa_high,
        baseline=comparison.spa_constant,
        sentence=f"{assay_report.labels[row.metric]} has SPA {format_number(row.spa)}{ends}{constant}.",
    )


def _find_metrics_tied_by_spa(
    assay_report: AssayReport, comparison: HumanComparison, best_metric: str
) -> list[str]:
    """Find the metrics whose interval of soft pairwise accuracy (SPA) overlaps with that of the best metric.

    Two 95 % intervals that do not overlap differ at a level far below 5 %, so a metric is rarely left out by
    chance; metrics that overlap may still differ.
    """
    rows = {row.metric: row for row in comparison.metrics}
    lower_end = rows[best_metric].spa_low
    tied = []
    for metric in assay_report.metrics:
        row = rows.get(metric)
        if (
            metric == best_metric
            or metric in assay_report.metrics_that_ignore_quality
            or row is None
            or row.spa is None
        ):
            continue
        # Without an interval, no difference is shown, and the metric counts as tied.
        if lower_end is None or row.spa_high is None or row.spa_high >= lower_end:
            tied.append(metric)
    return tied


def _describe_metric_that_saves_most_human_labels(assay_report: AssayReport) -> Claim | None:
    """Say which metric saves the most human labels when two systems are compared. None if this was not
    measured.
    """
    comparison = assay_report.result.human_comparison
    choice = None if comparison is None else comparison.by_labels_saved
    if comparison is None or choice is None:
        return None
    rows = {row.metric: row for row in comparison.metrics}
    row = rows[choice.metric]
    if row.labels_saved is None or row.labels_saved_low is None:
        return None
    # The p-value is corrected for the number of metrics, of which the best was chosen.
    if choice.p is None or choice.p > SIGNIFICANCE_LEVEL:
        return Claim(
            kind="unanswered",
            question="save_labels",
            p=choice.p,
            sentence="No metric is shown to save human labels when two systems are compared.",
        )
    worth = describe_equivalent_items(row.labels_saved, row.labels_saved_low, row.labels_saved_high)
    return Claim(
        kind="answer",
        question="save_labels",
        metrics=choice.top_group,
        value=row.labels_saved,
        low=row.labels_saved_low,
        high=row.labels_saved_high,
        baseline=0.0,
        p=choice.p,
        sentence=(
            f"With {assay_report.labels[row.metric]}, {RATED_ITEMS} rated items are worth {worth}"
            " when two systems are compared."
        ),
    )


def _explain_why_question_is_unanswered(question: Question, metric_ability: str, reason: str) -> Claim:
    return Claim(
        kind="unanswered",
        question=question,
        sentence=f"This data cannot tell which metric {metric_ability} as people do: {reason}.",
    )


def _has_human_scores(assay_report: AssayReport) -> bool:
    """Return whether the data has human scores, whether or not metrics were compared with them."""
    result = assay_report.result
    if result.human_comparison is not None or result.pairs_from == "people":
        return True
    return result.data is not None and any(score.kind == HUMAN_SCORE for score in result.data.scores)


def _explain_missing_human_comparison(
    assay_report: AssayReport, question: Question, metric_ability: str
) -> Claim:
    """Say why a question about agreement with people has no answer: the data has no human scores, or metrics
    were not compared with them.
    """
    if not _has_human_scores(assay_report):
        return _explain_why_question_is_unanswered(question, metric_ability, "it has no human scores")
    sentence = f"Which metric {metric_ability} as people do was not measured"
    # A note says why other human scores were not used.
    if assay_report.result.pairs_from == "people":
        sentence += " with pairs by human score. To find out: metassay rank DATA"
    else:
        sentence += "."
    return Claim(kind="unanswered", question=question, sentence=sentence)


def _describe_published_results_of_metrics(
    assay_report: AssayReport, best_metric: MetricAccuracy
) -> list[Claim]:
    """Say which metrics ranked systems well in the WMT tasks of 2021 to 2023. The list is empty unless the
    data are translations without human scores.
    """
    task = find_installed_task(assay_report.result.task)
    if _has_human_scores(assay_report) or task is None or not task.has_prior_evidence:
        return []
    return [
        Claim(
            kind="prior",
            question="rank_systems",
            metrics=[*NEURAL_METRICS],
            sentence=describe_neural_metrics(),
        ),
        Claim(
            kind="prior",
            question="rank_systems",
            metrics=[best_metric.metric],
            sentence=describe_loss_to_best_metric(best_metric.metric),
        ),
    ]


def _suggest_collecting_human_ratings(assay_report: AssayReport) -> Claim | None:
    """Suggest the command that chooses items for people to rate, if the data has no human scores and people
    can rate its outputs.
    """
    result = assay_report.result
    if _has_human_scores(assay_report) or result.pairs_from not in {"rule", "model"}:
        return None
    task = find_installed_task(result.task)
    if task is not None and task.is_ranking:
        return None
    items = min(RATED_ITEMS, result.items)
    command = f"metassay annotate DATA --count {items}"
    return Claim(
        kind="next",
        question="rank_systems",
        sentence=f"To find out for your data, have {format_plural(items, 'item')} rated: {command}",
    )


def _describe_accuracy_lost_by_single_metric(
    assay_report: AssayReport, best_metric: MetricAccuracy
) -> Claim | None:
    """Say how much accuracy is lost by using the best metric everywhere instead of the best metric in each
    context, such as each domain.
    """
    regrets = []
    for column in assay_report.context_columns:
        regret = column.result.regret
        if regret is not None and regret.value is not None and regret.high is not None:
            regrets.append((regret.high, column.name, regret))
    if not regrets or len(assay_report.metrics) < 2:
        return None
    # The column in which the loss may be largest, by the upper end of its interval.
    _, column_name, regret = max(regrets, key=lambda entry: entry[0])
    label = assay_report.labels[best_metric.metric]
    return Claim(
        kind="regret",
        metrics=[best_metric.metric],
        context=column_name,
        value=regret.value,
        low=regret.low,
        high=regret.high,
        sentence=f"Using {label} for every {column_name} costs {_format_accuracy_loss(regret)}.",
    )


def _format_accuracy_loss(regret: Interval) -> str:
    """Write the largest accuracy that using one metric in all contexts may cost, by its interval."""
    high = 0.0 if regret.high is None else regret.high
    loss = "less than 0.1" if high < _SMALLEST_SHOWN_LOSS else f"at most {100 * high:.1f}"
    return f"{loss} points (95\u202f% interval)"


def _describe_main_caveat(assay_report: AssayReport) -> Claim | None:
    caveat = choose_main_caveat(assay_report)
    if caveat is None:
        return None
    if caveat.split()[0] in _ARTICLES:  # other sentences may begin with a name
        caveat = caveat[0].lower() + caveat[1:]
    return Claim(kind="caveat", sentence=f"Keep in mind: {caveat}")
