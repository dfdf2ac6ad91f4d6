"""The verdict of an assay: which metric to use, which not, for which purpose, and the main caveat."""

from __future__ import annotations

from metassay.reporting.accuracy_phrases import describe_accuracy
from metassay.reporting.assay_caveats import choose_main_caveat, find_winning_sentinel
from metassay.reporting.assay_view import AssayView
from metassay.reporting.labels_saved_sentences import RATED_ITEMS, describe_worth
from metassay.reporting.question_titles import describe_purpose, name_outputs
from metassay.reporting.wording import (
    format_count,
    format_number,
    format_percent_interval,
    format_plural,
    join_names,
)
from metassay.results.assay import HumanComparison, MetricAccuracy
from metassay.results.verdict import Claim, Question

COIN = 0.5
LEVEL = 0.05
_MOST_NAMED = 3
_ARTICLES = {"The", "No", "Only", "Discounted"}
_PAIR_QUESTIONS: dict[str, Question] = {
    "rule": "detect_errors",
    "model": "detect_errors",
    "people": "choose_outputs",
}
"""Which question the pairs of an assay answer, by their origin; pairs of the user answer another one."""


def build_verdict(view: AssayView) -> list[Claim]:
    """Build the claims that page, terminal, notebook and `recommend` begin with."""
    best = view.best
    if best is None:
        return [Claim(kind="none", sentence="No metric can be recommended: no pair could be scored.")]
    answers = [
        _answer_with_pairs(view, best),
        _answer_choosing(view),
        _answer_ranking(view),
        _answer_saving(view),
    ]
    recommendation = _recommend(view, best)
    claims = [
        recommendation,
        *_name_other_winners(view, recommendation, answers),
        _name_metrics_to_avoid(view),
        _describe_data(view),
        *answers,
        _describe_regret(view, best),
        _choose_caveat(view),
    ]
    return [claim for claim in claims if claim is not None]


def get_verdict(view: AssayView) -> list[Claim]:
    """Return the verdict of a result; results that older versions stored have none, so it is built."""
    return view.result.verdict or build_verdict(view)


def _recommend(view: AssayView, best: MetricAccuracy) -> Claim:
    """Say which metric to use: one, a tie, or none where a metric without knowledge does as well."""
    sentinel = find_winning_sentinel(view, best)
    if sentinel is not None:
        return Claim(
            kind="none",
            metrics=[sentinel],
            sentence=(
                f"No metric can be recommended: {view.labels[sentinel]}, which knows nothing of quality, is"
                " right as often as the best of them."
            ),
        )
    answer = view.result.answer
    group = [best.metric] if answer is None else [best.metric, *answer.top_group]
    names = view.labels.label_all(group)
    purpose = _describe_purpose(view)
    sentence = f"{purpose}se {names[0]}."
    if len(names) > 1:
        sentence = f"{purpose}se {_list_alternatives(names)}: no reliable difference between them."
    p_values = [lead.p for lead in view.result.claims.leads if lead.column is None]
    return Claim(
        kind="use",
        metrics=list(dict.fromkeys(group)),
        p=max(p_values, default=None),
        sentence=sentence,
    )


def _name_other_winners(view: AssayView, recommendation: Claim, answers: list[Claim | None]) -> list[Claim]:
    """Name the best metric for each question in which the recommended one is not tied with it."""
    claims = []
    for answer in answers:
        if recommendation.kind != "use" or answer is None or answer.question is None:
            continue
        if answer.kind != "answer" or recommendation.metrics[0] in answer.metrics:
            continue
        winner = answer.metrics[0]
        purpose = describe_purpose(answer.question, view.result.task)
        claims.append(
            Claim(
                kind="use",
                question=answer.question,
                metrics=[winner],
                p=answer.p,
                sentence=f"To {purpose}, use {view.labels[winner]} instead.",
            )
        )
    return claims


def _describe_purpose(view: AssayView) -> str:
    """Limit the advice to what was tested, where nothing is known of human scores."""
    if view.result.human_comparison is not None or view.result.pairs_from not in {"rule", "model"}:
        return "U"
    return f"To detect errors in single {name_outputs(view.result.task)}, u"


def _list_alternatives(names: list[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{names[0]} or one of {len(names) - 1} others"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _name_metrics_to_avoid(view: AssayView) -> Claim | None:
    """Name the metrics that are shown to be behind on perturbed pairs and on human pairs."""
    claims = view.result.claims
    p_perturbed = {lead.worse: lead.p for lead in claims.leads if lead.column is None}
    p_human = {lead.worse: lead.p for lead in claims.human_leads}
    answer = view.result.answer
    usable = [] if answer is None else [answer.metric, *answer.top_group]
    comparison = view.result.human_comparison
    if comparison is not None and comparison.by_spa is not None:
        usable.append(comparison.by_spa.metric)
    behind = [metric for metric in view.metrics if metric in p_perturbed and metric in p_human]
    behind = [metric for metric in behind if metric not in usable]
    if not behind:
        return None
    names = view.labels.label_all(behind)
    return Claim(
        kind="avoid",
        metrics=behind,
        p=max(max(p_perturbed[metric], p_human[metric]) for metric in behind),
        sentence=f"Avoid {join_names(names)}: behind on perturbed and human pairs.",
    )


def _describe_data(view: AssayView) -> Claim:
    result = view.result
    systems = "" if result.data is None else f", {format_plural(len(result.data.systems), 'system')}"
    comparison = result.human_comparison
    human = "no human scores" if comparison is None else f"human score {comparison.human}"
    if result.pairs_from == "people":
        human = "pairs by human score"
    outputs = f"{format_count(result.outputs)} {name_outputs(result.task)}"
    return Claim(kind="data", sentence=f"{outputs}{systems}, {format_plural(result.items, 'item')}, {human}.")


def _answer_with_pairs(view: AssayView, best: MetricAccuracy) -> Claim:
    """Answer the question that the pairs of the assay are made for."""
    comparison = view.result.human_comparison
    row = best
    if comparison is not None:
        row = view.accuracies[comparison.by_perturbed_pairs.metric]
    question = _PAIR_QUESTIONS.get(view.result.pairs_from, "prefer_better")
    return _build_pair_answer(view, question, row, _find_tied(view, row.metric))


def _find_tied(view: AssayView, metric: str) -> list[str]:
    """Find the metrics that are not shown to be behind this one over all outputs."""
    answer = view.result.answer
    if answer is not None and answer.metric == metric:
        return [other for other in answer.top_group if other != metric]
    behind = {lead.worse for lead in view.result.claims.leads if lead.column is None}
    tied = []
    for other in view.metrics:
        is_scored = view.accuracies[other].accuracy is not None
        if is_scored and other not in {metric, *behind} and other not in view.uninformed:
            tied.append(other)
    return tied


def _build_pair_answer(view: AssayView, question: Question, row: MetricAccuracy, tied: list[str]) -> Claim:
    accuracy = describe_accuracy(row)
    return Claim(
        kind="answer",
        question=question,
        metrics=[row.metric, *tied],
        value=row.accuracy,
        low=row.low,
        high=row.high,
        baseline=COIN,
        sentence=f"{view.labels[row.metric]} is right in {accuracy} of {view.pairs}; a coin in 50\u202f%.",
    )


def _answer_choosing(view: AssayView) -> Claim | None:
    """Answer which metric chooses between two outputs as people do, where the pairs do not answer it."""
    if view.result.pairs_from == "people":
        return None
    comparison = view.result.human_comparison
    if comparison is None:
        return _leave_open("choose_outputs", "chooses between two outputs", "it has no human scores")
    rows = {row.metric: row for row in comparison.metrics}
    row = rows[comparison.by_human_pairs.metric]
    if row.accuracy is None:
        return _leave_open("choose_outputs", "chooses between two outputs", "no human pair was scored")
    return Claim(
        kind="answer",
        question="choose_outputs",
        metrics=list(dict.fromkeys([row.metric, *comparison.by_human_pairs.top_group])),
        value=row.accuracy,
        low=row.low,
        high=row.high,
        baseline=COIN,
        sentence=(
            f"{view.labels[row.metric]} is right in {describe_accuracy(row)} of human pairs; a coin in"
            " 50\u202f%."
        ),
    )


def _answer_ranking(view: AssayView) -> Claim:
    """Answer which metric ranks systems as people do, by soft pairwise accuracy (SPA)."""
    comparison = view.result.human_comparison
    if comparison is None:
        return _leave_open("rank_systems", "ranks systems", "it has no human scores")
    rows = {row.metric: row for row in comparison.metrics}
    row = None if comparison.by_spa is None else rows[comparison.by_spa.metric]
    if row is None or row.spa is None:
        reason = "it needs human scores of several systems on the same items"
        return _leave_open("rank_systems", "ranks systems", reason)
    ends = "" if row.spa_low is None else f" ({interval_of(row.spa_low, row.spa_high)})"
    constant = ""
    if comparison.spa_constant is not None:
        constant = f"; a constant has {format_number(comparison.spa_constant)}, a perfect metric 1"
    return Claim(
        kind="answer",
        question="rank_systems",
        metrics=[row.metric, *_find_tied_by_spa(view, comparison, row.metric)],
        value=row.spa,
        low=row.spa_low,
        high=row.spa_high,
        baseline=comparison.spa_constant,
        sentence=f"{view.labels[row.metric]} has SPA {format_number(row.spa)}{ends}{constant}.",
    )


def interval_of(low: float | None, high: float | None) -> str:
    """Write an interval of numbers that are not shares: `0.56 to 0.69`."""
    return f"{format_number(low)} to {format_number(high)}"


def _find_tied_by_spa(view: AssayView, comparison: HumanComparison, best: str) -> list[str]:
    """Find the metrics whose interval of SPA overlaps that of the best.

    Two 95 % intervals that do not overlap differ at a level far below 5 %, so a metric is rarely left out by
    chance; metrics that overlap may still differ.
    """
    rows = {row.metric: row for row in comparison.metrics}
    lower_end = rows[best].spa_low
    tied = []
    for metric in view.metrics:
        row = rows.get(metric)
        if metric == best or metric in view.uninformed or row is None or row.spa is None:
            continue
        if lower_end is None or row.spa_high is None or row.spa_high >= lower_end:
            tied.append(metric)
    return tied


def _answer_saving(view: AssayView) -> Claim | None:
    """Answer which metric saves most human labels when two systems are compared."""
    comparison = view.result.human_comparison
    choice = None if comparison is None else comparison.by_labels_saved
    if comparison is None or choice is None:
        return None
    rows = {row.metric: row for row in comparison.metrics}
    row = rows[choice.metric]
    if row.labels_saved is None or row.labels_saved_low is None:
        return None
    if choice.p is None or choice.p > LEVEL:
        return Claim(
            kind="unanswered",
            question="save_labels",
            p=choice.p,
            sentence="No metric is shown to save human labels when two systems are compared.",
        )
    worth = describe_worth(row.labels_saved, row.labels_saved_low, row.labels_saved_high)
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
            f"With {view.labels[row.metric]}, {RATED_ITEMS} rated items are worth {worth} when two systems"
            " are compared."
        ),
    )


def _leave_open(question: Question, ability: str, reason: str) -> Claim:
    return Claim(
        kind="unanswered",
        question=question,
        sentence=f"This data cannot tell which metric {ability} as people do: {reason}.",
    )


def _describe_regret(view: AssayView, best: MetricAccuracy) -> Claim | None:
    """Say what it costs to use one metric in all contexts, for the column where it costs most."""
    regrets = []
    for column in view.columns:
        regret = column.result.regret
        if regret is not None and regret.value is not None and regret.high is not None:
            regrets.append((regret.high, column.name, regret))
    if not regrets or len(view.metrics) < 2:
        return None
    _, column_name, regret = max(regrets, key=lambda entry: entry[0])
    low = 0.0 if regret.low is None else regret.low
    points = format_number(100 * (regret.value or 0.0), digits=1)
    ends = format_percent_interval(low, regret.high, digits=1)
    return Claim(
        kind="regret",
        metrics=[best.metric],
        context=column_name,
        value=regret.value,
        low=regret.low,
        high=regret.high,
        sentence=(
            f"Using {view.labels[best.metric]} for every {column_name} costs {points} points of accuracy"
            f" (95\u202f% interval {ends})."
        ),
    )


def _choose_caveat(view: AssayView) -> Claim | None:
    caveat = choose_main_caveat(view)
    if caveat is None:
        return None
    if caveat.split()[0] in _ARTICLES:  # other sentences may begin with a name
        caveat = caveat[0].lower() + caveat[1:]
    return Claim(kind="caveat", sentence=f"Keep in mind: {caveat}")
